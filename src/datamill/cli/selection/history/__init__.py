"""Verbs about a project's history."""
