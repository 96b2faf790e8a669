"""Formats of other tools, one file a tool: from a file's content to executions."""
