"""Whatever stands in a file: a table or a clear refusal; and what we write, we read back."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datamill.experiment.errors import InputError
from datamill.results.exporting.benchfmt import format_benchfmt, format_number, list_level_columns
from datamill.results.foreign.content import Content
from datamill.results.foreign.foreign_results import Execution, ForeignResults, Series
from datamill.results.foreign.recognise import recognise_format
from datamill.results.foreign.table import LabelledResults, build_foreign_table
from datamill.results.foreign.units import find_conversion

FOLDER = Path(__file__).parents[2] / "foreign"
JSON_FILES = ["hyperfine.json", "pyperf-single.json", "pytest-benchmark.json", "google-1.json",
              "jmh-gc.json", "asv/host/6737e387-existing.json"]  # fmt: skip
TEXT_FILES = ["go.txt", "rebench.data", "cargo-criterion.jsonl", "asv-run.txt", "go-events.jsonl"]

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), finite, st.text(max_size=5))
junk = st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(st.text(max_size=3), scalars, max_size=2)
)


def import_text(text: str) -> pl.DataFrame | None:
    """The table of a text, or None when it is refused; anything else is an error of ours."""
    content = Content("file", text)
    try:
        results = recognise_format(content).read(content)
    except InputError:
        return None
    return build_foreign_table([LabelledResults("file", "0", results)])


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    places = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    # The first few items of a list stand for all.
    for key, item in list(items)[:8]:
        places += list_places(item, (*path, key))
    return places


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(JSON_FILES), st.data())
def test_a_json_file_with_any_field_removed_or_replaced_is_read_or_refused(name: str, data) -> None:
    document = json.loads((FOLDER / name).read_text())
    place = data.draw(st.sampled_from(list_places(document)))
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if data.draw(st.booleans()):
        del holder[place[-1]]
    else:
        holder[place[-1]] = data.draw(junk)
    table = import_text(json.dumps(document))
    assert table is None or table.filter("valid")["value"].is_finite().all()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TEXT_FILES), st.data())
def test_a_text_file_with_a_piece_cut_out_is_read_or_refused(name: str, data) -> None:
    text = (FOLDER / name).read_text()
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 200)))
    table = import_text(text[:begin] + data.draw(st.text(max_size=3)) + text[end:])
    assert table is None or table.filter("valid")["value"].is_finite().all()


@given(finite, st.sampled_from(["ns", "us", "µs", "ms", "ps", "kB", "MB", "ns/op", "MB/s", "ops/ms"]))
def test_a_conversion_moves_the_decimal_point_and_changes_no_digit(value: float, unit: str) -> None:
    conversion = find_conversion(unit)
    converted = conversion.apply(value)
    assert converted == float(Decimal(repr(value)).scaleb(conversion.shift))


names = st.text(
    st.characters(categories=["Lu", "Ll", "Nd"], include_characters="_.-+<>{}()"), min_size=1, max_size=12
)
levels = st.dictionaries(
    st.sampled_from(["size", "alg", "gomaxprocs", "inputSize"]), st.integers(1, 99).map(str), max_size=3
)


@st.composite
def foreign_results(draw) -> ForeignResults:
    executions = []
    for benchmark in draw(st.lists(names, min_size=1, max_size=4)):
        values = draw(st.lists(finite, min_size=1, max_size=4))
        series = [Series("wall_time", "s", values), Series("allocs/op", "allocs/op", list(reversed(values)))]
        executions.append(Execution(benchmark, draw(levels), series))
    return ForeignResults(executions)


@settings(max_examples=150, deadline=None)
@given(foreign_results())
def test_what_is_exported_to_benchfmt_is_imported_again_to_the_last_digit(results: ForeignResults) -> None:
    table = build_foreign_table([LabelledResults("file", "0", results)])
    written = format_benchfmt(table, list_level_columns(table), source="table")
    content = Content("file", written.text)
    again = build_foreign_table([LabelledResults("file", "0", recognise_format(content).read(content))])
    for response in ("wall_time", "allocs/op"):
        before = table.filter(pl.col("response") == response)
        after = again.filter(pl.col("response") == response)
        assert after["value"].to_list() == before["value"].to_list()
        assert after["unit"].to_list() == before["unit"].to_list()
        assert after["trial_id"].n_unique() == before["trial_id"].n_unique()


@given(finite)
def test_a_number_is_written_so_that_it_reads_back(value: float) -> None:
    again = float(format_number(value))
    assert again == value
    assert math.copysign(1, again) == math.copysign(1, value)
