"""Verbs about machines that cannot be used: fit, predict, choose, rank."""
