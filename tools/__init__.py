"""LangChain tools, thin, and under them the machinery: devices, judge, profile."""
