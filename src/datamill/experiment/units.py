"""Units that a response may have."""

from __future__ import annotations

from datamill.experiment.errors import InputError
from datamill.experiment.messages.suggestions import suggest_name

_TIME = ("s", "ms", "us", "µs", "ns", "min", "h")
_SIZE = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bit", "kbit", "Mbit", "Gbit")
_COUNT = (
    "1", "%", "count", "op", "ops", "event", "events", "request", "requests", "query", "queries",
    "transaction", "transactions", "item", "items", "frame", "frames", "page", "pages", "fault", "faults",
    "switch", "switches", "cycle", "cycles", "instruction", "instructions", "miss", "misses",
    "iteration", "iterations", "message", "messages", "packet", "packets", "point", "points",
)  # fmt: skip
_PHYSICAL = ("Hz", "kHz", "MHz", "GHz", "W", "mW", "J", "mJ", "kWh", "V", "A", "°C", "K")
#: Rates as people write them, and the quotients that are meant.
_RATES = {f"{size}Bps": f"{size}B/s" for size in ("", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")} | {
    f"{size}bps": f"{size}bit/s" for size in ("", "k", "M", "G")
}
KNOWN_UNITS = frozenset(_TIME + _SIZE + _COUNT + _PHYSICAL)


def check_unit(unit: str, *, where: str) -> str:
    """Return `unit` if it is known: one unit, a quotient such as `B/s`, or a free one such as `{widgets}`.

    Raises:
        InputError: for an unknown unit, with the nearest known one.
    """
    parts = unit.split("/")
    if not unit or len(parts) > 2:
        raise InputError(
            f'"{unit}" is not a unit',
            where=where,
            remedy='Write one unit such as "s", or a quotient such as "B/s".',
        )
    if (rate := _RATES.get(unit)) is not None:
        raise InputError(f'unknown unit "{unit}"', where=where, remedy=f'Write "{rate}".')
    for part in parts:
        free = len(part) > 2 and part.startswith("{") and part.endswith("}")
        if not free and part not in KNOWN_UNITS:
            raise InputError(
                f'unknown unit "{part}"',
                where=where,
                remedy=f"{suggest_name(part, KNOWN_UNITS)} Write your own unit in braces: "
                f'"{{{part.strip("{}") or "widgets"}}}".',
            )
    return unit


def spell_unit(unit: str) -> str:
    """Return a unit as people read it: `{widgets}/s` is widgets/s."""
    return unit.replace("{", "").replace("}", "")
