"""Hardware analysis: from counters to the one thing to fix."""
