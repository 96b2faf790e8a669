"""What all analyses have in common: they can be read, drawn, written as a page."""
