"""The experiment file: read, checked, written."""
