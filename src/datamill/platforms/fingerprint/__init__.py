"""Fingerprints: what an application took on machines of a suite, kept for later predictions."""
