"""On which machines to measure, and which benchmarks a suite can do without."""
