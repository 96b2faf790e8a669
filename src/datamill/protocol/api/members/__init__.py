"""Accounts: keys, addresses for notices, what users have and may have."""
