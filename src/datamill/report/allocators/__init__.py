"""What a trace of allocations found, in words, tables and JSON."""
