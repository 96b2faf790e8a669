"""The ensemble: members weighed, and errors expected, by what they do for the suite's own benchmarks."""
