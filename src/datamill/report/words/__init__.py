"""Numbers, names and warnings as people read them, and words that pages explain."""
