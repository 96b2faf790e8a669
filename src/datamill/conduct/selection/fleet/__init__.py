"""Versions built, profiled and measured by a machine of a fleet: packages there, facts back."""
