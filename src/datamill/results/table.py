"""The tidy table: one row for each observation."""

from __future__ import annotations

import polars as pl

#: Columns of the tidy table besides the factors', which stand after `package` under their own names
#: (as strings; the design's order of levels is the meaningful one).
TABLE_SCHEMA: dict[str, pl.DataType] = {
    "experiment": pl.String(),
    "trial_id": pl.String(),
    "attempt": pl.Int64(),
    "order": pl.Int64(),
    "point": pl.Int64(),
    "replicate": pl.Int64(),
    "block": pl.String(),
    "seed": pl.Int64(),
    "worker": pl.String(),
    "boot_id": pl.String(),
    "isolation": pl.String(),
    "build_id": pl.String(),
    "started_unix_ns": pl.Int64(),
    "outcome": pl.String(),
    "package": pl.String(),
    "response": pl.String(),
    "unit": pl.String(),
    "measurement": pl.Int64(),
    "value": pl.Float64(),
    "valid": pl.Boolean(),
    "exclusion": pl.String(),
}
