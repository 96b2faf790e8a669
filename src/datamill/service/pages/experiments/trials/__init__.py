"""Trials and attempts of an experiment, on its pages."""
