"""The tidy table: built from records, read from files, checked."""
