"""Files of other versions of the tools, and numbers that no tool should write: read rightly, or refused."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from datamill.experiment.errors import InputError
from datamill.results.foreign.importing import Imported, import_files

ENTRY = {"name": "BM_A", "iterations": 10, "real_time": 1.5, "cpu_time": 1.4, "time_unit": "ns"}


def read(folder: Path, content: object) -> Imported:
    file = folder / "results.txt"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return import_files([file])


def make_google(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"context": {}, "benchmarks": [{**ENTRY, **entry} for entry in entries]}


@pytest.mark.parametrize("with_observations", [True, False])
def test_aggregates_of_google_benchmark_before_1_5_are_known_by_their_names(
    tmp_path: Path, with_observations: bool
) -> None:
    observed = [{"real_time": value} for value in (1.0, 2.0, 3.0)] if with_observations else []
    aggregates = [{"name": f"BM_A_{name}"} for name in ("mean", "median", "stddev")]
    table = read(tmp_path, make_google(*observed, *aggregates)).table
    assert table["benchmark"].unique().to_list() == ["BM_A"]
    assert table.filter("valid").height == 2 * len(observed)
    assert table.filter(~table["valid"])["exclusion"].str.starts_with("aggregate: ").all()


def test_a_benchmark_that_is_only_called_like_an_aggregate_stays_one(tmp_path: Path) -> None:
    table = read(tmp_path, make_google({"name": "BM_find_mean"}, {"name": "BM_sort"})).table
    assert table["valid"].all()
    assert set(table["benchmark"]) == {"BM_find_mean", "BM_sort"}


def test_what_google_benchmark_skips_on_purpose_is_no_failure(tmp_path: Path) -> None:
    skipped = {"name": "BM_A", "skipped": True, "skip_message": "no such device"}
    failed = {"name": "BM_B", "error_occurred": True, "error_message": "no such file"}
    table = read(tmp_path, make_google(skipped, failed)).table
    reasons = dict(table.select("benchmark", "exclusion").unique().iter_rows())
    assert reasons == {"BM_A": "skipped: no such device", "BM_B": "failed: no such file"}
    assert not table["valid"].any()
    assert table["value"].null_count() == table.height


def test_memory_that_google_benchmark_counted_is_in_bytes(tmp_path: Path) -> None:
    table = read(tmp_path, make_google({"max_bytes_used": 100, "allocs_per_iter": 2.0})).table
    units = dict(table.select("response", "unit").rows())
    assert units["max_bytes_used"] == "B"
    assert units["allocs_per_iter"] == "1"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (make_google({"iterations": 10**19}), "10000000000000000000 iterations"),
        ("BenchmarkX 99999999999999999999 1 ns/op\nPASS\n", "99999999999999999999 iterations"),
        (make_google({"swaps": 10**400}), "beyond the range of doubles"),
        ({"results": [{"command": "a", "times": [10**400]}]}, "out of range"),
        ('{"results": [{"command": "a", "times": [' + "9" * 5000 + "]}]}", "too many digits"),
        (
            "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\tvalue\n1\t1\t5\tms\ttotal\tB\t7\n",
            '"value" stands there twice',
        ),
    ],
)
def test_numbers_that_no_tool_writes_are_refused_with_the_file(
    tmp_path: Path, content: object, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, content)
    assert caught.value.where.startswith(str(tmp_path / "results.txt"))
    assert caught.value.remedy


def test_a_line_separator_inside_a_name_ends_no_line(tmp_path: Path) -> None:
    message = {"reason": "benchmark-complete", "id": "a\u2028b\x85c", "iteration_count": [1],
               "measured_values": [5.0], "unit": "ns"}  # fmt: skip
    table = read(tmp_path, json.dumps(message, ensure_ascii=False) + "\n").table
    assert table["benchmark"].to_list() == ["a\u2028b\x85c"]


def test_compressed_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"BenchmarkX 10 1 ns/op\nPASS\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    assert import_files([Path("-")]).table["value"].to_list() == [1e-9]
