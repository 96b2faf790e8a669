"""Coverage of every interval that datamill offers, by verb, method, shape of the data and n.

No comparison of speed: 1000 simulated experiments a row, of 95% intervals. Run by hand; all rows take
some 3,300 seconds of processor time. docs/reference/coverage.md has the table, docs/reference/analyses.md
says which simulation covers which interval.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path

from intervals import distributions, groups, linear_models, nested, quantile_effects
from intervals.row import Coverage, Row, measure_coverage

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

ROWS: tuple[Row, ...] = tuple(
    row
    for module in (groups, linear_models, nested, distributions, quantile_effects)
    for row in module.list_rows()
)
TITLES = ("verb", "method", "data", "n", "interval", "held (%)", "held or warned of (%)", "warned of (%)")
#: Below this share of intervals, 3.5 standard errors of a thousand below 95%, a row is printed bold.
LEAST = 0.926


def _measure(task: tuple[int, int, int]) -> tuple[int, list[Coverage], float]:
    at, replications, seed = task
    started = time.perf_counter()
    return at, measure_coverage(ROWS[at], replications, seed), time.perf_counter() - started


def _spell(row: Row, found: Coverage) -> list[str]:
    held = f"{100 * found.held:.1f}"
    either = f"{100 * found.held_or_warned:.1f}" if found.warned else ""
    return [
        row.verb, row.method, row.data, row.n, found.name,
        f"**{held}**" if found.held < LEAST else held,
        f"**{either}**" if either and found.held_or_warned < LEAST else either,
        f"{100 * found.warned:.0f}" if found.warned else "",
    ]  # fmt: skip


def main() -> None:
    """Print a line for each interval, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--verb", default="", help="only rows of this verb, such as tests")
    parser.add_argument("--method", default="", help="only rows of this method, such as rank")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    chosen = [
        at
        for at, row in enumerate(ROWS)
        if arguments.verb in ("", row.verb) and arguments.method in ("", row.method)
    ]
    tasks = [(at, arguments.replications, arguments.seed) for at in chosen]
    started, found = time.perf_counter(), {}
    # Rows hold functions, which only a fork inherits.
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        for at, coverages, seconds in pool.imap_unordered(_measure, tasks):
            found[at] = coverages
            for coverage in coverages:
                print(
                    *_spell(ROWS[at], coverage),
                    coverage.experiments,
                    f"{seconds:.1f} s",
                    sep="\t",
                    flush=True,
                )
    minutes = (time.perf_counter() - started) / 60
    lines = [_spell(ROWS[at], coverage) for at in chosen for coverage in found[at]]
    heading = (
        f"{describe_machine()} {arguments.replications} experiments a row, seed {arguments.seed}, "
        f"{minutes:.0f} minutes with {arguments.jobs} processes."
    )
    text = f"{heading}\n\n{format_table(TITLES, lines)}\n"
    print(f"\n{text}")
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
