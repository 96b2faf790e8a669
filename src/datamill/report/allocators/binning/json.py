"""The binning effect as values of JSON, with every digit."""

from __future__ import annotations

from typing import Any

from datamill.allocators.binning.binning_effect import BinningEffect, CallGroup
from datamill.analysis.groups.group_comparison import GroupTest
from datamill.report.tables.interval_json import spell_interval


def spell_binning(effect: BinningEffect) -> dict[str, Any]:
    """Write a binning effect as values of JSON.

    Keys: `response`, `unit`, `n`; `explains` ("most", "some" or "none" of the slow calls), `is_slower`;
    `groups` (name, n, mean, median, standard_deviation, min, max; fast calls first); `games_howell`
    (difference of means, binned less fast, with `low`, `high`, `q`, `df`, `p`); `mann_whitney` (`w`, as R's
    `wilcox.test(latency ~ binned)`, `u` for the binned calls, `p`, and `estimates`: share of pairs in which
    the binned call takes longer, shift, ratio); `slow_calls` (`threshold`, `n`, `binned`, `share` with
    `low` and `high`, `usual_share`); `confidence`. Bounds are null where they are infinite.
    """
    return {
        "response": effect.observations.response,
        "unit": effect.observations.unit,
        "n": effect.fast.n + effect.binned.n,
        "explains": effect.explains,
        "is_slower": effect.is_slower,
        "groups": [_spell_group(effect.fast), _spell_group(effect.binned)],
        "games_howell": {
            **(spell_interval(effect.means.estimates[0].value) if effect.means.estimates else {}),
            "q": effect.means.statistic,
            "df": effect.means.df[0] if effect.means.df else None,
            "p": effect.means.p,
        },
        "mann_whitney": {
            "w": effect.w,
            "u": effect.ranks.statistic,
            "p": effect.ranks.p,
            "method": effect.ranks.method,
            "estimates": _spell_estimates(effect.ranks),
        },
        "slow_calls": {
            "threshold": effect.slow.threshold,
            "n": effect.slow.n,
            "binned": effect.slow.binned,
            "share": spell_interval(effect.slow.share),
            "usual_share": effect.slow.usual_share,
        },
        "confidence": effect.confidence,
    }


def _spell_group(group: CallGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "n": group.n,
        "mean": group.mean,
        "median": group.median,
        "standard_deviation": group.deviation,
        "min": group.least,
        "max": group.most,
    }


def _spell_estimates(test: GroupTest) -> list[dict[str, Any]]:
    return [
        {"name": item.name, **spell_interval(item.value), "method": item.method} for item in test.estimates
    ]
