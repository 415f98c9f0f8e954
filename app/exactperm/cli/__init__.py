"""The command line. Only `commands` and `options` are loaded before it is known what to do: help comes at once."""
