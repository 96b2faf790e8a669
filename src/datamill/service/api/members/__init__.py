"""Accounts over the API: keys, notices, users, what takes room and how long it is kept."""
