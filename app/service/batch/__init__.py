"""Many small requests in one: a list of them, answered in order."""
