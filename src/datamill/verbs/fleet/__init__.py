"""What was fetched of a fleet, read."""
