"""A fleet in virtual time: the real coordinator against simulated machines, broker, network and users.

`world.py` runs one seed; `docs/why/simulation.md` says what is real, what is simulated and what is checked.
"""
