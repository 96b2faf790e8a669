"""What a machine offers and lacks for measuring: what is read of it, and what follows."""
