"""Why the coordinator refused a request."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """Why a request was refused: what is wrong, where, and what to do."""

    message: str
    where: str = ""
    remedy: str = ""
