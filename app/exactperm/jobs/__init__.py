"""Work that outlives a connection: durable jobs on an existing engine, in a SQLite file or in PostgreSQL."""
