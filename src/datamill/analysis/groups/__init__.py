"""Groups compared: ranks, means, spreads, permutations."""
