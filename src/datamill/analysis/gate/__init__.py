"""Benchmarks of two revisions judged together: which are slower, at one error rate for all of them."""
