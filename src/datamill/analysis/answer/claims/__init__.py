"""What an experiment claims before its data, and whether they show it."""
