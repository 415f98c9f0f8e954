"""From a test that was asked for to a record of its answer."""
