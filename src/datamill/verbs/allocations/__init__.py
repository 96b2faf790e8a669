"""What a table of allocations says."""
