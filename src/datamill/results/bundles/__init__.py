"""The folder of an experiment: what it holds, decisions, and the trials specified from it."""
