"""What experiments of the fleet say, for their pages and the API."""
