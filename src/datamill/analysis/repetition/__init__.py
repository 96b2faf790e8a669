"""How many builds, executions and measurements to make, from a pilot's variances."""
