"""Planning: what a test of so many items can find, and how many items a difference needs."""
