"""Versions of a program compared: changes, histories, variances, false alarms."""
