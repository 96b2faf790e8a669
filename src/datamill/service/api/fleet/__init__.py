"""The API for the fleet: its machines, and the factors that they have."""
