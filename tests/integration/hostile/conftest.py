"""What attacks in this folder share: databases of the coordinator, and the command line."""

from acceptance.conftest import datamill
from integration.service.databases import database, memory_database, postgres_url

__all__ = ["database", "datamill", "memory_database", "postgres_url"]
