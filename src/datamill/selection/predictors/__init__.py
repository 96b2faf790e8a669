"""What decides whether a benchmark must run, a file each."""
