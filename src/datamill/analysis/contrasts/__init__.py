"""Planned comparisons of means: their errors, intervals, blocks, and how many there are."""
