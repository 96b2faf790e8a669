"""Before and after a screening: its question, and that of the experiment that follows it."""
