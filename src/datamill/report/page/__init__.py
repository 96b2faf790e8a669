"""What all pages have in common, and the page of a single analysis."""
