"""Borders carry records: a mapping of anything stands only where its content is anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import datamill

_SOURCES = Path(datamill.__file__).parent
_MAPPING = re.compile(r"\b(?:dict|[Dd]ict|Mapping|MutableMapping)\[str, Any\]")
#: Where they may stand, by the beginning of a path: how many lines, and why.
_ALLOWED = {
    "report/": (93, "writes charts of Vega-Lite, and answers as JSON whose keys tests freeze"),
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
    "conduct/question/screening/follow_up.py": (2, "changes the TOML of an experiment file"),
    "cli/analyze/plan.py": (1, "passes options of click on"),
    "service/broker/credentials.py": (3, "writes claims of a JWT"),
    "service/pages/new_experiment/form.py": (6, "writes TOML"),
    "service/pages/": (9, "gives templates of Django the names that they show"),
    "service/settings.py": (1, "is a setting of Django"),
}


def list_lines() -> dict[str, int]:
    """Lines that declare a mapping of anything, by module."""
    found = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        lines = sum(bool(_MAPPING.search(line)) for line in path.read_text(encoding="utf-8").splitlines())
        if lines:
            found[path.relative_to(_SOURCES).as_posix()] = lines
    return found


def find_reason(module: str) -> str | None:
    """The entry that allows a module its mappings, the longest that fits."""
    fits = [place for place in _ALLOWED if module.startswith(place)]
    return max(fits, key=len, default=None)


def test_a_mapping_of_anything_stands_only_where_anything_may_come() -> None:
    strange = {module: lines for module, lines in list_lines().items() if find_reason(module) is None}
    assert not strange, f"declare a record in place of dict[str, Any]: {strange}"


@pytest.mark.parametrize("place", _ALLOWED)
def test_mappings_of_anything_become_no_more(place: str) -> None:
    most, why = _ALLOWED[place]
    lines = {module: count for module, count in list_lines().items() if find_reason(module) == place}
    assert sum(lines.values()) <= most, f"{place} {why}; a further border gets a record: {lines}"
    assert sum(lines.values()) >= most, f"{place} has fewer than {most}: lower the number"


def test_neither_protocol_nor_api_nor_the_verbs_of_a_fleet_have_any() -> None:
    bare = ("protocol/", "service/api/", "service/watching/", "cli/fleet/", "cli/coordinator/")
    assert not [place for place in _ALLOWED if place.startswith(bare)]
