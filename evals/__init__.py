"""Whole-benchmark runs: suites, ablations, reports."""
