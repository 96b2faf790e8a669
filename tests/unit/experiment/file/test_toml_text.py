"""Tables of an experiment file, written so that they read back as they were."""

import datetime
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.toml_text import format_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=4), st.dictionaries(TEXT, SCALARS, max_size=3))
TABLES = st.dictionaries(TEXT, VALUES, max_size=4)


@given(st.dictionaries(TEXT, st.one_of(TABLES, st.lists(TABLES, min_size=1, max_size=3)), max_size=4))
def test_what_is_written_reads_back_the_same(tables: dict[str, object]) -> None:
    assert tomllib.loads(format_toml(tables)) == tables


def test_an_experiment_survives_being_written_anew() -> None:
    text = """
[experiment]
name = "a"
confidence = 0.99
[[package]]
name = "x"
path = "C:\\\\x"
[nuisance]
aslr = { fix = "on" }
niceness = { randomise = [0, 5] }
[responses.rate]
unit = "op/s"
formula = "1 / wall_time_s"
direction = "higher"
"""
    written = format_toml(tomllib.loads(text))
    assert parse_experiment(written, name="e") == parse_experiment(text, name="e")


def test_what_no_experiment_file_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="not a value of an experiment file"):
        format_toml({"experiment": {"name": datetime.date(2026, 1, 1)}})
