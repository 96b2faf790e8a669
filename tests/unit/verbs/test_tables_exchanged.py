"""What is summarized of tables that come from other tools, and chosen of tables that go to them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from datamill.experiment.errors import InputError
from datamill.results.foreign.importing import import_files
from datamill.verbs.exchange.exported_table import choose_responses, read_exported_table
from datamill.verbs.exchange.import_summary import ImportSummary, summarize_import


def summarize(folder: Path, *processes: str, independent: bool = False) -> ImportSummary:
    """Import what `go test` printed, a file a process, and summarize it."""
    files = []
    for number, text in enumerate(processes):
        files.append(folder / f"{number}.txt")
        files[-1].write_text(f"goos: linux\ngoarch: amd64\npkg: sort\n{text}PASS\n", encoding="utf-8")
    imported = import_files(tuple(files), independent=independent)
    return summarize_import(imported, folder / "my table.csv", independent=independent)


def test_a_summary_counts_values_and_the_processes_that_they_come_from(tmp_path: Path) -> None:
    summary = summarize(tmp_path, "BenchmarkA 100 12 ns/op\nBenchmarkA 100 14 ns/op\n")
    assert [(item.values, item.executions) for item in summary.responses if item.values] == [(2, 1)]
    assert any("count as one replicate" in note for note in summary.notes)


def test_a_summary_names_arguments_as_the_one_who_calls_would_type_them(tmp_path: Path) -> None:
    summary = summarize(tmp_path, "BenchmarkA 100 12 ns/op\nBenchmarkA 100 14 ns/op\n")
    assert any("datamill import --independent" in note for note in summary.notes)


def test_the_next_command_can_be_typed_whatever_the_table_is_called(tmp_path: Path) -> None:
    summary = summarize(tmp_path, "BenchmarkA 100 12 ns/op\n", "BenchmarkB 100 14 ns/op\n")
    assert summary.next.startswith(f"datamill analyze summary '{tmp_path}/my table.csv' --response ")


def test_rows_of_the_responses_that_are_named_are_kept(tmp_path: Path) -> None:
    rows = {"trial_id": ["a", "a", "b"], "response": ["y", "x", "y"], "value": [1.0, 2.0, 3.0]}
    path = tmp_path / "table.csv"
    pl.DataFrame(rows | {"valid": [True] * 3}).write_csv(path)
    table = read_exported_table(path)
    assert table.is_tidy
    assert choose_responses(table, ["y"]).rows["value"].to_list() == [1.0, 3.0]
    with pytest.raises(InputError, match='there is no response "z"'):
        choose_responses(table, ["z"])


def test_a_plain_table_has_no_responses_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    pl.DataFrame({"g": ["a"], "y": [1.0]}).write_csv(path)
    with pytest.raises(InputError, match="not tidy"):
        choose_responses(read_exported_table(path), ["y"])
