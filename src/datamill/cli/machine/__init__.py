"""Verbs for this machine: what it is and offers, and how it joins a fleet."""
