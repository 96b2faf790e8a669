"""Summaries of 10^7 rows against one pass over the file."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

import polars as pl
from anova import make_table, measure, spell

from datamill.verbs.summary import summary

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table

#: The factors that groups are made of, from none to all of the table's.
GROUPINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("sched",),
    ("sched", "machine"),
    ("sched", "machine", "vmstat", "load"),
)
TARGET = 3.0


def main() -> None:
    """Make latencies of a 2^4 design with factors as text, time both, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--times", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        file = Path(folder, "latencies.parquet")
        make_table(arguments.rows).write_parquet(file)
        rows = [compare(file, factors, arguments.times) for factors in GROUPINGS]
    titles = ["factors", "one pass: CPU", "wall", "summary: CPU", "wall", "CPU, ratio", "wall, ratio"]
    print(describe_machine() + "\n")
    print(format_table(titles, rows))
    print(f"\nTarget: within {TARGET:.0f} times one pass (sum and count by group, polars).")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Peak memory of this process {memory:.0f} MiB.")


def compare(file: Path, factors: tuple[str, ...], times: int) -> list[str]:
    """A row of the table: what both cost."""
    one_pass = measure(lambda: scan(file, factors), times)
    ours = measure(lambda: summary(str(file), response="latency", factors=factors), times)
    ratios = [f"{mine / least:.2f}" for mine, least in zip(ours, one_pass, strict=True)]
    return [str(len(factors)), *spell(one_pass), *spell(ours), *ratios]


def scan(file: Path, factors: tuple[str, ...]) -> pl.DataFrame:
    """Sum and count by group."""
    asked = [pl.len(), pl.col("latency").sum()]
    rows = pl.scan_parquet(file)
    return (rows.group_by(list(factors)).agg(asked) if factors else rows.select(asked)).collect()


if __name__ == "__main__":
    main()
