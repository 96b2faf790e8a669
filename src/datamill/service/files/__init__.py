"""Files by their content: what users bring with experiments, what attempts produce."""
