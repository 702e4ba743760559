"""LangSmith's pytest plugin and tracing stay off the network; read before anything imports them."""

from __future__ import annotations

import os

os.environ.setdefault("LANGSMITH_TEST_TRACKING", "false")
os.environ.setdefault("LANGSMITH_TRACING", "false")
