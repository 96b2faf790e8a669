"""Commands that are timed: warmed up, executed in turns, looked at, and kept as a bundle."""
