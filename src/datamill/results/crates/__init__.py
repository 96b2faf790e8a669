"""A bundle as a research object: an RO-Crate in a zip file, written and read back."""
