"""The OpenAPI document: operations, response schemas, export."""
