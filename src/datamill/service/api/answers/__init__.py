"""What experiments say, over the API."""
