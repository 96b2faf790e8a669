"""Five-number summaries and distributions in text, JSON and figures."""
