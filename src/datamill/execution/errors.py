"""What goes wrong with a worker: light to load, for whoever only has to say so."""

from __future__ import annotations


class WorkerError(Exception):
    """The worker ended without a record; the message says how, from its own words."""


class WorkerKilledError(WorkerError):
    """A signal ended the worker before it had a record: it could not put the host back as it was."""
