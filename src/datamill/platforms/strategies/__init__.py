"""Ways to predict: one file each, named in `registry`."""
