"""Pages of users: signing in, keys, who did what."""
