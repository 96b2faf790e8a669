"""Groups compared by ranks."""
