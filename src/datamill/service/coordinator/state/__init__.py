"""What the coordinator knows: its rows, the events of them, and how each may change."""
