"""Each version in one row: its mean, its change, the verdict, in the words of the statement."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.analysis.versions.version_comparison import VersionComparison
from datamill.report.compare.answer import scale_comparison
from datamill.report.compare.statement import spell_change, spell_mean


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version with the ends of its mean's interval, and with its change from the version it is `against`.

    Of a version that is compared with no other, the last four are empty.
    """

    version: str
    n: str
    mean: str
    interval: str
    against: str = ""
    change: str = ""
    change_interval: str = ""
    verdict: str = ""


def list_version_rows(comparison: VersionComparison) -> tuple[VersionRow, ...]:
    """Write all versions in their order; means are in the unit of `scale_comparison`."""
    scale = scale_comparison(comparison)
    changes = {change.version: spell_change(change, comparison, scale) for change in comparison.changes}
    rows = []
    for mean in comparison.means:
        name, n, value, interval, *_ = spell_mean(mean, scale)
        if name not in changes:
            rows.append(VersionRow(name, n, value, interval))
            continue
        _, against, _, percent, ends, *_, verdict = changes[name]
        rows.append(VersionRow(name, n, value, interval, against, percent, ends, verdict))
    return tuple(rows)
