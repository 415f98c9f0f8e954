"""Power: how likely a test is to find a difference that is there."""
