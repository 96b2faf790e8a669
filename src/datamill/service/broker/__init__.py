"""The message broker: its process, its rights, its streams, and what travels through them."""
