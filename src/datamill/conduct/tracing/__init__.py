"""Programs whose allocations are traced, from the command to what was found."""
