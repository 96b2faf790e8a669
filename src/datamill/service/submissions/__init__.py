"""From what a user submits to an experiment with its trials."""
