"""The page of notices, and the feed."""
