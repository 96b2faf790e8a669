"""How a step of the agent ends: it waits, or its process or machine goes down."""

from __future__ import annotations

from collections.abc import Generator

Waiting = Generator[float | None, None, None]


class Patience(float):
    """Seconds to wait, unless woken before."""


class PowerCutError(Exception):
    """The machine goes down on the spot."""


class RebootAskedError(Exception):
    """The agent reboots its machine, in order."""


class AgentEndedError(Exception):
    """The agent's process ended with an error, and is started again."""
