"""Is it right, and is it faster: gates, comparison, verdict."""
