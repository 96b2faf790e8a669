"""The tables `[[package]]` and `[[load]]` of an experiment file."""
