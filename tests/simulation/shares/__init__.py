"""Fleets that have much to do for long: whether each user gets what was promised, in virtual time."""
