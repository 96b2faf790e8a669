"""`datamill time`."""
