"""What the JSON of every verb has in common: a schema, the answer in sentences, and the warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from faces.python_verbs import FACTOR_VERBS, make_levels, make_versions

import datamill
from datamill.report.tables.envelope import write_result


def check(content: dict[str, Any]) -> None:
    names = list(content)
    assert (names[0], names[1], names[-1]) == ("schema", "answer", "warnings")
    assert content["schema"] == 1
    assert content["answer"]
    for sentence in (*content["answer"], *content["warnings"]):
        assert isinstance(sentence, str)
        assert sentence
    assert len(set(content["warnings"])) == len(content["warnings"])


def test_what_is_infinite_is_null_wherever_it_stands() -> None:
    written = write_result(["So."], {"ends": [{"low": 1.0, "high": math.inf}], "none": math.nan}, ["w", "w"])
    assert json.loads(written) == {
        "schema": 1,
        "answer": ["So."],
        "ends": [{"low": 1.0, "high": None}],
        "none": None,
        "warnings": ["w"],
    }


@pytest.mark.parametrize("verb", FACTOR_VERBS, ids=lambda verb: verb.__name__)
def test_verbs_on_factors_begin_with_schema_and_answer_and_end_with_warnings(
    verb: Callable[..., Any],
) -> None:
    result = verb(make_levels(), response="y", factors=["f"])
    check(json.loads(result.json()))
    assert json.loads(result.json())["answer"] == list(result.lead)


@pytest.mark.parametrize("verb", [datamill.variance, datamill.compare], ids=lambda verb: verb.__name__)
def test_verbs_on_versions_do_likewise(verb: Callable[..., Any]) -> None:
    check(json.loads(verb(make_versions()).json()))


def test_a_plan_and_its_false_alarms_do_likewise() -> None:
    costs = "b=10,w=5,q=1"
    check(json.loads(datamill.plan(make_versions(), half_width="1%", only="old", costs=costs).json()))
    check(json.loads(datamill.false_alarms(make_versions(), only="old").json()))
