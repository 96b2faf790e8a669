"""Which combinations of levels a design has: all, a fraction, a screening, a covering array."""
