"""Pages of experiments and of their trials."""
