"""Several experiments compared: what they can be asked together, and what that says."""
