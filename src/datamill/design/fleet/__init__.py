"""A design over several machines: who may run what, and who does."""
