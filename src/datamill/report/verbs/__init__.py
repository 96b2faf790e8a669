"""The verbs of `analyze` as text and as JSON."""
