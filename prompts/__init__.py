"""One template per agent."""
