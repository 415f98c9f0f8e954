"""The command line. Only `commands` and `options` are imported at first, so that help is fast."""
