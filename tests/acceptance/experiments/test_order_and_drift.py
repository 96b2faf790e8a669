"""Interleaved experiments with reference trials, from the file to the page."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
from acceptance.conftest import Command, assert_refused

EXPERIMENT = """
[experiment]
name = "turns"
replicates = 4
seed = 3
order = "interleaved"
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
aslr = ["on", "off"]
[reference]
package = "b"
every = 5
[responses.rate]
unit = "op/s"
formula = "operations / wall_time_s"
direction = "higher"
"""


def test_an_interleaved_experiment_with_reference_trials_runs_and_reports_drift(
    datamill: Command, make_experiment: Callable[..., Path], tmp_path: Path
) -> None:
    make_experiment(text=EXPERIMENT)
    checked = datamill("check", "experiment.toml").stdout
    assert "21, in random order within replicates (interleaved)" in " ".join(checked.split())
    assert "5 of them show drift (package b)" in " ".join(checked.split())
    ran = datamill("run", "experiment.toml", "--out", "bundle")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "cannot be used" not in ran.stdout

    table = pl.read_parquet(tmp_path / "bundle" / "table.parquet").filter(pl.col("response") == "rate")
    assert table.height == 21
    references = table.filter(pl.col("purpose") == "reference")
    assert references["trial_id"].to_list() == ["r01", "r02", "r03", "r04", "r05"]
    assert references["order"].to_list() == [1, 7, 13, 19, 21]
    assert references["valid"].sum() == 0
    asked = table.filter(pl.col("purpose") == "question")
    assert asked["valid"].all()
    assert asked["block"].to_list() == [block for block in "1234" for _ in range(4)]
    assert asked["replicate"].cast(pl.String).to_list() == asked["block"].to_list()

    page = (tmp_path / "bundle" / "report.html").read_text()
    assert "in random order within replicates (interleaved)" in page
    assert "5 are reference trials, of package b" in page
    assert 'id="drift"' in page
    assert "block (order of the run)" in page
    assert "within blocks" in page


def test_an_unknown_reference_package_is_refused(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=EXPERIMENT.replace('package = "b"', 'package = "c"'))
    assert_refused(datamill("check", "experiment.toml"), "experiment.toml:", '"c"')
