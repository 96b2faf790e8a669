"""What a coordinator wrote: its records, and the bundle that it streams."""
