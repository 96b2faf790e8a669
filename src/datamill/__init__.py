"""datamill: from a question about performance to a defensible answer."""

__version__ = "0.1.0"
