"""Read the files of evaluation tools: one module per format or family; `catalogue.read` reads any of them."""
