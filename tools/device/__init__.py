"""Where candidates are built, run, timed and profiled: `cuda` or `cpu`, behind one port."""
