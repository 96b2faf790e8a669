"""3: the trials, run here through the worker."""
