"""The compilation study's summary gives the effects of builds that were put into its trials."""

from __future__ import annotations

import random
import runpy
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from made.synthetic import fit_record, make_bundle_folder, make_record

STUDY = Path(__file__).resolve().parents[3] / "studies" / "compilation"
#: Standard deviations between builds, executions and measurements, relative to the mean, by level.
PLANTED = {"-Os": (0.06, 0.02, 0.01), "-O2": (0.0, 0.02, 0.01), "-O3": (0.02, 0.02, 0.01)}


def make_bundle(folder: Path) -> Path:
    bundle = make_bundle_folder(folder, (STUDY / "experiment.toml").read_text())
    draws = random.Random(2006)
    builds: dict[tuple[str, int], float] = {}
    records = []
    for trial in bundle.design.trials:
        level = trial.levels["optimization"]
        between, within, inside = PLANTED[level]
        key = (level, trial.build)
        build = builds.setdefault(key, draws.gauss(1e-6, between * 1e-6))
        execution = build + draws.gauss(0, within * 1e-6)
        count = trial.warmup + trial.measurements
        values = tuple(execution + draws.gauss(0, inside * 1e-6) for _ in range(count))
        record = fit_record(make_record(trial.trial_id, factors=()), bundle)
        metrics = {"transform_cpu_time_s": values, "transform_time_s": values}
        made = msgspec.structs.replace(record.build, id=f"{level}-{trial.build}", policy="shared")
        records.append(msgspec.structs.replace(record, metrics=metrics, build=made))
    bundle.append_records(records)
    bundle.write_table(records)
    return folder


def summarize(*arguments: Path) -> tuple[int, str, str]:
    said, complained = StringIO(), StringIO()
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = ["summarize", *map(str, arguments)], [str(STUDY)]
    try:
        with redirect_stdout(said), redirect_stderr(complained), pytest.raises(SystemExit) as end:
            runpy.run_path(str(STUDY / "summarize"), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
    return int(end.value.code or 0), said.getvalue(), complained.getvalue()


def read_rows(text: str, head: str) -> dict[str, list[str]]:
    """Rows of the first table whose header holds a text, by their first cell."""
    rows: dict[str, list[str]] = {}
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("|") and head in line)
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = cells
    return rows


def test_builds_that_matter_are_told_from_builds_that_do_not(tmp_path: Path) -> None:
    status, text, complained = summarize(make_bundle(tmp_path / "bundle"))
    assert status == 0, complained
    impact = read_rows(text, "impact factor")
    assert impact["paper: FFT"] == ["1.18", "4.1"]
    factor = {name: float(cells[0].split()[0]) for name, cells in impact.items() if name.startswith("fft")}
    variation = {name: float(cells[1].split()[0]) for name, cells in impact.items() if name.startswith("fft")}
    # Executions of other builds: sqrt(6² + 2²) over 2 percent, and so on.
    assert 2.2 < factor["fft -Os"] < 4.4
    assert 0.9 < factor["fft -O2"] < 1.1
    assert 1.15 < factor["fft -O3"] < 1.8
    assert 4 < variation["fft -Os"] < 8
    assert variation["fft -O2"] < 1
    levels = read_rows(text, "executions: sd")
    for cells in levels.values():
        mean, _, executions, measurements, *_ = (float(cell) for cell in cells)
        assert 0.96 < mean < 1.04
        assert 1.6 < executions < 2.4
        assert 0.97 < measurements < 1.03
    assert float(levels["fft -Os"][-1]) > 10
    assert float(levels["fft -O2"][-1]) < 2
    alarms = read_rows(text, " 10 |")
    assert float(alarms["fft -Os, intervals"][0]) > 30, "one build of each seems to be another version"
    assert float(alarms["fft -Os, Welch on executions"][2]) > 20
    assert float(alarms["fft -Os, Welch"][2]) < 9


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    status, _, complained = summarize(tmp_path)
    assert status == 2
    assert complained.startswith("summarize: ")
