"""2: the plan. Full factorial designs, coverage and random order; pure."""
