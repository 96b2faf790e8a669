"""Groups compared by means and spreads, with normal observations assumed."""
