"""What is said of a commit: which benchmarks must run, how sure that is, and why."""
