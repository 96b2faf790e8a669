"""Which benchmarks must run for this commit? Programs compared, indicators, predictors, evaluation; pure."""
