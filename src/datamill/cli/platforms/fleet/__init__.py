"""Scores of a fleet's machines, and packages of its experiments, for the verbs about platforms."""
