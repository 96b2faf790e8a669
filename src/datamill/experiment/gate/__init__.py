"""What a gate is asked: which benchmarks of which revisions, in which time, at which error rate."""
