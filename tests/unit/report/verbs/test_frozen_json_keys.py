"""Keys of JSON that scripts read: none goes and none changes its name unless `schema` says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import datamill

#: For each verb every key, with the keys that it lies in. A new key is added here; that one goes, or has
#: another name, takes another number in `schema`.
FROZEN = json.loads(Path(__file__).with_name("frozen_json_keys.json").read_text())


def make_table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (flag, tool, 5 + 0.4 * at + 0.2 * (tool == "y") + rng.exponential(0.2))
        for at, flag in enumerate(("-O0", "-O2", "-O3"))
        for tool in ("x", "y")
        for _ in range(12)
    ]
    return pl.DataFrame(rows, schema=["flag", "tool", "time"], orient="row")


def make_versions() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = []
    for version in ("old", "new"):
        for build in range(6):
            at_build = 10 + rng.normal() + (version == "new")
            for execution in range(3 + build % 2):
                at_execution = at_build + 0.2 * rng.normal()
                rows += [
                    (version, f"b{build}", execution, measurement, at_execution + 0.1 * rng.normal())
                    for measurement in range(4)
                ]
    return pl.DataFrame(rows, schema=["version", "build", "execution", "measurement", "value"], orient="row")


def list_keys(value: Any, place: str = "") -> set[str]:
    """Places of a JSON value; `[]` stands for any element of a list."""
    inner = (
        [(f"{place}.{name}" if place else name, item) for name, item in value.items()]
        if isinstance(value, dict)
        else [(f"{place}[]", item) for item in value]
        if isinstance(value, list)
        else []
    )
    return {place} - {""} | {key for name, item in inner for key in list_keys(item, name)}


RESULTS: dict[str, Callable[[], Any]] = {
    name: (lambda name=name: getattr(datamill, name)(make_table(), response="time", factors=["flag", "tool"]))
    for name in ("anova", "quantiles", "summary", "variability")
} | {
    "tests": lambda: datamill.tests(make_table(), response="time", factors=["flag"]),
    "variance": lambda: datamill.variance(make_versions()),
    "compare": lambda: datamill.compare(make_versions()),
    "plan": lambda: datamill.plan(make_versions(), half_width="1%", only="old", costs="b=10,w=5,q=1"),
    "false_alarms": lambda: datamill.false_alarms(make_versions(), only="old"),
}


@pytest.mark.parametrize("verb", RESULTS)
def test_keys_of_json_are_those_that_scripts_know(verb: str) -> None:
    content = json.loads(RESULTS[verb]().json())
    assert content["schema"] == FROZEN[verb]["schema"]
    assert sorted(list_keys(content)) == FROZEN[verb]["keys"]
