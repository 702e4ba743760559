"""Whole-benchmark runs: a suite of units under one configuration, its results and its scores."""
