"""Measurements within executions within builds: taken from a table, reduced, and checked for their order."""
