"""Requests that carry a key of their sender's: done once, however often they arrive."""
