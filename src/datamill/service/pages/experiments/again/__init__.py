"""Experiments run again, their verdicts, and experiments side by side."""
