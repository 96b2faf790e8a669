"""docs/reference/tables.md describes the columns that tables of a fleet have, in their order."""

from __future__ import annotations

import re
from pathlib import Path

from datamill.results.exporting.fleet_part import PART_SCHEMA

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "tables.md"


def test_the_page_lists_every_column_of_a_fleets_tables_with_its_type() -> None:
    table = PAGE.read_text().partition("| column | type | meaning |")[2].partition("\n\n")[0]
    listed = [
        (name, kinds)
        for names, kinds in re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert [name for name, _ in listed] == PART_SCHEMA.names
    words = {"string": "string", "int64": "int64", "double": "float64", "bool": "bool"}
    for name, kinds in listed:
        word = words.get(str(PART_SCHEMA.field(name).type), "list of")
        assert word in kinds, f"{name} is {PART_SCHEMA.field(name).type}, and the page says {kinds}"
