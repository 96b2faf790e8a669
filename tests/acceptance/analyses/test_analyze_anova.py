"""`datamill analyze anova`, as a user types it, on good and on bad tables."""

import json
from pathlib import Path

import polars as pl
import pytest
from made.synthetic import make_bundle_folder, make_failed_record, make_phase, make_record

from datamill.cli.main import main

GOOD = "f,g,y\nold,a,1.0\nold,b,2.5\nnew,a,3.1\nnew,b,4.4\nold,a,1.2\nold,b,2.2\nnew,a,3.0\nnew,b,4.6\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in ("analyze", "anova", *arguments)])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_parquet_table_gives_the_same_as_its_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write(tmp_path, GOOD)
    pl.read_csv(text).write_parquet(tmp_path / "t.parquet")
    options = ("--response", "y", "--factors", "f,g", "--json")
    first, second = run(capsys, text, *options), run(capsys, tmp_path / "t.parquet", *options)
    assert first == second
    assert first[0] == 0


def test_blank_lines_at_the_end_are_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, write(tmp_path, GOOD + "\n\n"), "--response", "y", "--factors", "f,g")
    assert status == 0
    assert "n = 8" in out


def test_more_than_three_factors_stop_at_pairs_unless_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i & 1},{i >> 1 & 1},{i >> 2 & 1},{i >> 3 & 1},{i * 37 % 101}" for i in range(16)]
    path = write(tmp_path, "\n".join(["a,b,c,d,y", *rows, *rows]))
    options = (path, "--response", "y", "--factors", "a,b,c,d", "--json")
    assert json.loads(run(capsys, *options)[1])["order"] == 2
    assert json.loads(run(capsys, *options, "--order", "3")[1])["order"] == 3


def test_a_factor_with_many_levels_shows_each_with_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"-O{i % 4},{10 + i % 4 + (i * 7 % 5) / 10}\n" for i in range(24))
    path = write(tmp_path, "flag,y\n" + rows)
    _, out, _ = run(capsys, path, "--response", "y", "--factors", "flag")
    lines = [line.split() for line in out.splitlines()]
    table = lines[next(at for at, line in enumerate(lines) if line[:1] == ["Analysis"]) :]
    assert [line[0] for line in table if line and line[0].startswith("-O")] == ["-O0", "-O1", "-O2", "-O3"]
    assert max(len(line) for line in out.splitlines()) <= 100


def test_a_tidy_table_selects_the_valid_rows_of_a_response_and_counts_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = []
    for index in range(16):
        rows.append((f"t{index}", "ab"[index % 2], "rate", float(index % 2 + index * 0.01), index != 3))
        rows.append((f"t{index}", "ab"[index % 2], "faults", 100.0 + index % 5, True))
    names = ["trial_id", "package", "response", "value", "valid"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    table.write_csv(tmp_path / "table.csv")
    table.write_parquet(tmp_path / "table.parquet")
    for name in ("table.csv", "table.parquet"):
        status, out, err = run(capsys, tmp_path / name, "--json")
        assert status == 0, err
        content = json.loads(out)
        assert (content["response"], content["n"], content["excluded"]) == ("rate", 15, 1)
    assert json.loads(run(capsys, tmp_path / "table.csv", "--response", "faults", "--json")[1])["n"] == 16
    status, _, err = run(capsys, tmp_path / "table.csv", "--response", "rat")
    assert (status, "The responses are: rate, faults" in err) == (2, True)


def test_a_bundle_needs_neither_response_nor_factors_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    records = [
        make_record(
            trial.trial_id,
            package=trial.package,
            run=make_phase(10**9 + 7**index % 10**6 + 10**8 * (trial.package == "a")),
        )
        for index, trial in enumerate(bundle.design.trials)
    ]
    bundle.write_table([*records[:-1], make_failed_record(records[-1].trial_id)])
    status, out, err = run(capsys, bundle.folder, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert (content["response"], content["unit"]) == ("rate", "B/s")
    assert content["n"] + content["excluded"] == len(bundle.design.trials)
    assert content["excluded"] >= 1
    assert next(factor["name"] for factor in content["factors"]) == "package"
    assert run(capsys, tmp_path)[0] == 2


BAD = {
    "no such file": (None, "y", "f,g", "no such file"),
    "no rows": ("f,g,y\n", "y", "f,g", "no rows"),
    "empty file": ("", "y", "f,g", "the file is empty"),
    "missing factor": (GOOD, "y", "f,h", 'no column "h"'),
    "missing response": (GOOD, "z", "f,g", "The columns are: f, g, y."),
    "no response named": (GOOD, "", "f,g", "--response"),
    "no factors named": (GOOD, "y", "", "--factors"),
    "not a number": (GOOD + "new,b,fast\n", "y", "f,g", 't.csv:10: y is "fast"'),
    "not finite": (GOOD + "new,b,NaN\n", "y", "f,g", 't.csv:10: y is "NaN"'),
    "no value": (GOOD + "new,b,\n", "y", "f,g", 't.csv:10: y is ""'),
    "no level": (GOOD + "new,,1\n", "y", "f,g", "t.csv:10: factor g has no level here"),
    "blank line": (GOOD + "\nnew,b,2\n", "y", "f,g", "t.csv:10: factor f has no level"),
    "too many cells": (GOOD + "new,b,2,3\n", "y", "f,g", "the row has 4 fields, the header 3"),
    "one level": ("f,y\na,1\na,2\na,3\n", "y", "f", "only one level"),
    "constant": ("f,y\na,1\nb,1\na,1\nb,1\n", "y", "f", "constant"),
    "too few": ("f,y\na,1\nb,2\n", "y", "f", "2 observations cannot estimate 2 coefficients"),
    "named twice": (GOOD, "y", "f,f", "named twice"),
    "response is factor": (GOOD, "y", "f,y", "both response and factor"),
    "column twice": ("f,f,y\na,b,1\n", "y", "f", "stands there twice"),
    "not text": ("f,y\na,\udcff\n", "y", "f", "t.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_ends_with_status_2_and_says_where_and_what(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, response, factors, message = BAD[case]
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    status, out, err = run(capsys, path, "--response", response, "--factors", factors)
    assert (status, out) == (2, "")
    assert message in err
    assert "t.csv" in err
    assert "Traceback" not in err
