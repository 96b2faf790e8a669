"""What was collected of a project's history, as files."""
