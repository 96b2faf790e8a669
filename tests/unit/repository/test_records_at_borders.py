"""Borders carry records: a mapping of anything stands only where its content is anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import datamill

_SOURCES = Path(datamill.__file__).parent
_MAPPING = r"\b(?:dict|[Dd]ict|Mapping|MutableMapping)\[str, {}\]"
#: Where mappings of `Any` may stand, by the beginning of a path: how many lines, and why.
_OF_ANY = {
    "report/": (92, "writes charts of Vega-Lite, and answers as JSON whose keys tests freeze"),
    "report/platforms/": (26, "writes charts of Vega-Lite, and answers as JSON whose keys tests freeze"),
    "results/foreign/": (15, "reads formats of other tools, which may hold anything"),
    "results/exporting/": (1, "reads rows of a table, whose columns are an experiment's"),
    "results/tables/": (1, "reads the columns of a table, of any type"),
    "verbs/": (16, "gives the values of answers to JSON, whose keys tests freeze"),
    "verbs/platforms/": (5, "gives the values of answers to JSON, whose keys tests freeze"),
    "verbs/inputs/": (3, "reads tables and arguments of Python, of any type"),
    "experiment/file/": (28, "reads and writes TOML"),
    "experiment/gate/gate_file.py": (2, "reads TOML"),
    "experiment/formula.py": (1, "holds the names that a formula is computed with"),
    "packing/shipped_packages.py": (1, "reads TOML"),
    "selection/history/checked_tables.py": (2, "reads TOML"),
    "conduct/question/screening/follow_up.py": (2, "changes the TOML of an experiment file"),
    "cli/analyze/plan.py": (1, "passes options of click on"),
    "service/broker/credentials.py": (3, "writes claims of a JWT"),
    "service/front_door/kept_threads.py": (3, "overrides an application of Django, with its types"),
    "service/pages/new_experiment/form.py": (6, "writes TOML"),
    "service/pages/": (9, "gives templates of Django the names that they show"),
    "service/settings.py": (1, "is a setting of Django"),
}
#: The same for mappings of `object`, which say as little of what is in them.
_OF_OBJECTS = {
    "report/": (10, "writes charts of Vega-Lite, and answers as JSON whose keys tests freeze"),
    "results/crates/crate_files.py": (1, "writes JSON-LD, whose entities have the properties that they have"),
    "results/foreign/": (1, "reads formats of other tools, which may hold anything"),
    "verbs/analyses/by_level.py": (2, "passes the arguments of any verb on"),
    "verbs/inputs/arguments.py": (1, "looks at the arguments of any verb"),
    "verbs/platforms/evaluation/evaluation_folder.py": (
        2,
        "compares a file of JSON with what would be written",
    ),
    "experiment/file/": (6, "reads and writes TOML"),
    "cli/timing/gate.py": (1, "replaces the fields of a record that options name"),
    "conduct/commits/origins.py": (2, "writes the TOML of an experiment file"),
    "conduct/question/screening/": (
        2,
        "changes the TOML of an experiment file, and reads what a screening found",
    ),
    "conduct/selection/fleet/": (8, "writes the TOML of an experiment file"),
    "conduct/timing/": (3, "writes the TOML of an experiment file"),
    "service/answers/analyses.py": (1, "gives a verb the arguments that a form named"),
    "service/api/documented.py": (1, "reads the description of the API, in the form of OpenAPI"),
    "service/api/schemas.py": (1, "describes raw JSON, which is an object"),
    "service/coordinator/leasing/standings.py": (1, "gives Django the columns that it updates"),
    "service/pages/": (14, "gives templates of Django the names that they show"),
}
_ALLOWED = {"Any": _OF_ANY, "object": _OF_OBJECTS}
_PLACES = [(value, place) for value, allowed in _ALLOWED.items() for place in allowed]


@cache
def list_lines(value: str) -> Mapping[str, int]:
    """Lines that declare a mapping of `Any`, or of `object`, by module."""
    mapping = re.compile(_MAPPING.format(value))
    found = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        lines = sum(bool(mapping.search(line)) for line in path.read_text(encoding="utf-8").splitlines())
        if lines:
            found[path.relative_to(_SOURCES).as_posix()] = lines
    return found


def find_reason(value: str, module: str) -> str | None:
    """The entry that allows a module its mappings, the longest that fits."""
    fits = [place for place in _ALLOWED[value] if module.startswith(place)]
    return max(fits, key=len, default=None)


@pytest.mark.parametrize("value", _ALLOWED)
def test_a_mapping_of_anything_stands_only_where_anything_may_come(value: str) -> None:
    lines = list_lines(value)
    strange = {module: count for module, count in lines.items() if find_reason(value, module) is None}
    assert not strange, f"declare a record in place of dict[str, {value}]: {strange}"


@pytest.mark.parametrize(("value", "place"), _PLACES)
def test_mappings_of_anything_become_no_more(value: str, place: str) -> None:
    most, why = _ALLOWED[value][place]
    lines = {
        module: count for module, count in list_lines(value).items() if find_reason(value, module) == place
    }
    assert sum(lines.values()) <= most, f"{place} {why}; a further border gets a record: {lines}"
    assert sum(lines.values()) >= most, f"{place} has fewer than {most}: lower the number"


def test_neither_protocol_nor_api_nor_the_verbs_of_a_fleet_have_any() -> None:
    bare = ("protocol/", "service/api/", "service/watching/", "cli/fleet/", "cli/coordinator/")
    assert not [place for place in _OF_ANY if place.startswith(bare)]
