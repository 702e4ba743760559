"""One file per node of the graph: read state, call a tool, return an update."""
