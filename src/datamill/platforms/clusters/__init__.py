"""Which benchmarks of a suite tell the same."""
