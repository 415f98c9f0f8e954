"""Durable jobs, which outlive a connection, in a SQLite file or in PostgreSQL."""
