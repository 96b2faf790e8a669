"""Which rows of a table a question is about."""
