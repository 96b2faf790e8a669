"""Figures, interactive and printed."""
