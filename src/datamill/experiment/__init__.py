"""1: the question. Experiments, factors, responses and formulas; pure."""
