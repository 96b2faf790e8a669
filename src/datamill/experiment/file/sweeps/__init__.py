"""Factors that the experiment file describes: what `run.sh` has in a variable, versions of a library."""
