"""The coordinator's web pages."""
