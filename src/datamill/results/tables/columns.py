"""Columns that every tidy table has, beside those of its factors."""

from __future__ import annotations

#: Their names, in order, and what they hold.
TABLE_COLUMNS: dict[str, type[str | int | float | bool]] = {
    "experiment": str,
    "trial_id": str,
    "attempt": int,
    "order": int,
    "point": int,
    "replicate": int,
    "build": int,
    "execution": int,
    "purpose": str,
    "block": str,
    "seed": int,
    "worker": str,
    "boot_id": str,
    "isolation": str,
    "build_id": str,
    "started_unix_ns": int,
    "outcome": str,
    "package": str,
    "response": str,
    "unit": str,
    "measurement": int,
    "value": float,
    "valid": bool,
    "exclusion": str,
    "doubt": str,
    "quiet_wait_s": float,
    "busiest": str,
}
