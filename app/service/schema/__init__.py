"""Wire models: what a request may hold."""
