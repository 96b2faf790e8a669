"""How often tests repeat what only repetition shows: a few times in every change, many times at night."""

from __future__ import annotations

import os

#: `make nightly` sets it.
NIGHTLY = os.environ.get("DATAMILL_NIGHTLY", "") not in ("", "0")


def choose_count(usual: int, at_night: int) -> int:
    """Return how often something is repeated in this run of the tests."""
    return at_night if NIGHTLY else usual
