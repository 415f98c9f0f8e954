"""The wire models: what a request may say and what an answer says. Strict, frozen, nothing unknown."""
