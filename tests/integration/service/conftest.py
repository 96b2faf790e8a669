"""Databases for tests of the coordinator; `databases.py` says what they are and how others get them."""

from integration.service.databases import database, memory_database, postgres_url

__all__ = ["database", "memory_database", "postgres_url"]
