"""The page of the administration."""
