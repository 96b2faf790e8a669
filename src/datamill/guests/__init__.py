"""Emulated machines: a worker of your own that may be rebooted and whose power may be cut."""
