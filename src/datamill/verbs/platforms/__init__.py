"""Verbs about machines that one cannot use."""
