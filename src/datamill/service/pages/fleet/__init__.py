"""Pages of workers and of what is in quarantine."""
