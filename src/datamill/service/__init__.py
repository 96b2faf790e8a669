"""The coordinator of a fleet: web pages, API, accounts, and the trials that travel to workers and back."""
