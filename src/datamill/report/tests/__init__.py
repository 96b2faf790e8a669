"""Groups compared, in text, JSON and a figure."""
