"""Candidate machines in the order of their speed for an application."""
