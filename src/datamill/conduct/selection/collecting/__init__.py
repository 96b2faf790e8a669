"""Versions of a project built, profiled and measured."""
