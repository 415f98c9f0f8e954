"""Questions about power, from bytes to a record."""
