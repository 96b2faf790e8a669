"""Levels that were planned and have no valid observation."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl


def find_missing_levels(
    valid: pl.DataFrame, planned: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Planned levels of each factor that have no valid observation."""
    missing = {}
    for name, levels in planned.items():
        if name in valid.columns:
            seen = set(valid[name].drop_nulls().cast(pl.String).to_list())
            absent = tuple(level for level in levels if level not in seen)
            if absent:
                missing[name] = absent
    return missing


def phrase_missing_levels(
    missing: Mapping[str, tuple[str, ...]], planned: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """A sentence on each factor that lacks levels; those fixed to one level lack none."""
    warnings = []
    for name, absent in missing.items():
        shown = ", ".join(absent)
        if name == "package":
            verb = "has no valid data and is" if len(absent) == 1 else "have no valid data and are"
            warnings.append(f"package {shown} {verb} not compared")
        elif len(planned[name]) - len(absent) == 1:
            warnings.append(f"{name} has valid data at one level only: nothing is said about it")
        else:
            warnings.append(f"{name} has no valid data at {shown}: nothing is said about that level")
    return warnings
