"""What predictors make of cases and scores: scaled features, weights, probabilities."""
