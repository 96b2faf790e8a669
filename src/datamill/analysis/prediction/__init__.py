"""Responses at levels between those that were measured."""
