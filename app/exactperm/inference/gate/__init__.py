"""Gates: decide a policy from certified tests."""
