"""How sure the coefficients of a quantile model are, by several methods."""
