"""Packages, background loads and factors, as folders and archives."""
