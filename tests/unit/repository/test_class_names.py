"""A class has its name to itself: who reads it need not ask which of two is meant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3] / "src" / "datamill"
#: Django wants a class of this name in each file.
_MIGRATIONS = "service/migrations/"
#: What declares a public class, read without the rest of the file, which takes long.
_CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)


def list_shared_names(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return public classes that stand in two files or more, by name, with the files."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in sources.items():
        for name in _CLASS.findall(text):
            found[name].append(path)
    return {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}


def test_no_public_class_name_is_declared_twice() -> None:
    paths = [path for path in ROOT.rglob("*.py") if _MIGRATIONS not in path.as_posix()]
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    assert len(sources) > 1000, "the sources were not found"
    assert list_shared_names(sources) == {}, "name one of them for what it is, the one whose name is vaguer"


def test_a_name_that_is_declared_twice_is_found_and_one_that_is_imported_is_not() -> None:
    sources = {
        "a.py": "class Turn: ...\nclass _Own: ...\n",
        "b.py": "class Turn: ...\nclass _Own: ...\n",
        "c.py": "from a import Turn as Turn\n",
    }
    assert list_shared_names(sources) == {"Turn": ["a.py", "b.py"]}
