"""Programs as tables of their functions and data."""
