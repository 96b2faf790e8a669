"""From the tidy table to one response's values in the order in which the trials ran."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from datamill.analysis.drift.drift import RunOrder
from datamill.results.judgement.validity import REFERENCE_REASON


def select_run_order(
    table: pl.DataFrame,
    response: str,
    factors: Sequence[str],
    *,
    packages: Sequence[str] = (),
    warmup: int = 0,
) -> RunOrder | None:
    """Return a response's valid trials and the reference trials; None where the table says nothing of order.

    `factors` are those of the question: trials with the same levels are a design point. `packages` come
    first in the result's. Measurements inside a trial are averaged, of reference trials without the first
    `warmup` of several.
    """
    when = next((name for name in ("started_unix_ns", "order") if name in table.columns), "")
    if not when or table[when].null_count():
        return None
    reference = pl.lit(value=False)
    if "purpose" in table.columns:
        reference = (pl.col("purpose") == "reference") & (pl.col("exclusion") == REFERENCE_REASON)
    rows = table.filter((pl.col("response") == response) & pl.col("value").is_not_null()).with_columns(
        __reference=reference.fill_null(value=False)
    )
    identity = [name for name in ("experiment", "trial_id") if name in table.columns]
    rows = rows.filter(pl.col("valid") | pl.col("__reference"))
    if warmup:
        several = pl.len().over(identity) > 1
        cold = pl.col("__reference") & several & (pl.col("measurement") < warmup)
        rows = rows.filter(~cold)
    conditions = [name for name in (*factors, "worker") if name in rows.columns and name != "package"]
    trials = rows.group_by(identity, maintain_order=True).agg(
        pl.first(when).alias("__when"),
        pl.first("__reference"),
        pl.first("package"),
        pl.first("block") if "block" in rows.columns else pl.lit("").alias("block"),
        pl.concat_str(
            [pl.first("package"), *(pl.first(name) for name in conditions)], separator="\x1f"
        ).alias("__point"),
        pl.mean("value"),
    )
    trials = trials.sort("__when", maintain_order=True)
    if trials.height == 0:
        return None
    named = trials["__point"] + trials["__reference"].cast(pl.String)
    names = tuple(dict.fromkeys([*packages, *trials["package"].unique().sort().to_list()]))
    package_at = {name: number for number, name in enumerate(names)}
    blocks = trials["block"].fill_null("").unique(maintain_order=True).to_list()
    at = {name: number for number, name in enumerate(blocks)}
    return RunOrder(
        values=trials["value"].to_numpy().astype(np.float64),
        point=np.unique(named.to_numpy().astype(str), return_inverse=True)[1].reshape(-1),
        package=np.array([package_at[name] for name in trials["package"]], dtype=np.int64),
        reference=trials["__reference"].to_numpy().astype(np.bool_),
        block=np.array([at[name] for name in trials["block"].fill_null("")], dtype=np.int64),
        packages=names,
        blocks=tuple(str(name) for name in blocks),
    )
