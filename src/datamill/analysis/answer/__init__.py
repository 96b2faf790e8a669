"""What an experiment says: everything that is inferred from it, as one record."""
