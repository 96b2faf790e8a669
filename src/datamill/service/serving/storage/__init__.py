"""Where the coordinator keeps its data, and who may write it."""
