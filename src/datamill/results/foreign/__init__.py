"""Result files of other tools, one module a format: pure functions from their content to executions."""
