"""The answers as plain data: inference makes them, JSON, reports and the client read them. They need nothing of the program."""
