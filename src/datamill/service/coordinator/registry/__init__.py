"""The registry of factors: what users brought for all, what an administrator forbids, names in policies."""
