"""Experiments over several machines: relative values, each machine by itself, and whether they agree."""
