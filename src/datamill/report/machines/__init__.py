"""Factors on several machines: sentences, tables, and the pictures of the papers."""
