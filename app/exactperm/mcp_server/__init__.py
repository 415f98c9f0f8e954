"""`exactperm mcp`: tests, gates, comparisons and power for assistants, over the Model Context Protocol."""
