"""Accounts of a coordinator: keys, notices, what users have and may have, how long it is kept, backups."""
