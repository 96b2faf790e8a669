"""Days and moments as lists show them, in this machine's time."""

from __future__ import annotations

from datetime import datetime


def format_day(unix_s: float) -> str:
    """Return a day such as `2026-03-01`."""
    return f"{datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d}"


def format_moment(unix_s: float | None) -> str:
    """Return a day with its time, such as `2026-03-01 14:05`, empty for None."""
    return "" if unix_s is None else f"{datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d %H:%M}"
