"""Who asks, from where, and how much at once."""
