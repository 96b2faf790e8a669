"""What attacks in this folder share: databases of the coordinator."""

from integration.service.databases import database, memory_database, postgres_url

__all__ = ["database", "memory_database", "postgres_url"]
