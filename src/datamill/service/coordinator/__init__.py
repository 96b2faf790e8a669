"""What the coordinator decides: pure of network and clock, on the database alone.

Times come in as seconds since the Unix epoch. Functions that change something are called from one thread, one
after the other; each is one transaction.
"""
