"""A room is found in one guess: few files side by side, none long, no circle among the rooms of a crate."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MOST_FILES = 10
MOST_LINES = 500
#: What is written by hand and read: each kind has its own count in a folder.
KINDS = (
    "src/datamill/**/*.py",
    "src/datamill/**/*.html",
    "src/datamill/**/*.toml",
    "crates/*/src/**/*.rs",
    "crates/*/tests/**/*.rs",
    "tests/**/*.py",
    "benches/**/*.py",
    "protocol/**/*.json",
    "docs/**/*.md",
)
#: Folders with more files, and why.
LARGER = {"src/datamill/service/migrations": "Django has all migrations of an application in one folder"}
#: May be longer: schemas are written by a program, and documents are divided by their headings.
_MAY_BE_LONG = ("protocol/", "docs/")


def count_files(paths: list[str]) -> Counter[str]:
    """Return how many files each folder has; the docstring of a Python package is not counted."""
    return Counter(str(Path(path).parent) for path in paths if Path(path).name != "__init__.py")


def list_sources(pattern: str) -> list[str]:
    """Return the files that match, as paths from the repository's root."""
    return [str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)]


def count_lines(path: str) -> int:
    """Return the lines of a file, named from the repository's root."""
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def read_code(path: Path) -> str:
    """Return a Rust file without comments and without the tests at its end."""
    code = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]
    return "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))


def find_circle(uses: dict[str, set[str]]) -> list[str]:
    """Return rooms of which each uses the next, and the last the first; empty when there are none."""
    done: set[str] = set()

    def follow(room: str, path: list[str]) -> list[str]:
        if room in path:
            return path[path.index(room) :]
        if room in done:
            return []
        for used in sorted(uses.get(room, ())):
            if circle := follow(used, [*path, room]):
                return circle
        done.add(room)
        return []

    for room in sorted(uses):
        if circle := follow(room, []):
            return circle
    return []


def find_uses(folder: Path, modules: tuple[str, ...]) -> dict[str, set[str]]:
    """Return which of the rooms of a folder, and of the files beside them, name which by their full path.

    `modules` is where the folder is in its crate: `("quantile", "general")`.
    """
    full_path = re.compile("".join(f"{module}::" for module in ("crate", *modules)) + r"(\w+)")
    uses: dict[str, set[str]] = defaultdict(set)
    rooms = {path.stem for path in folder.iterdir()} - {"mod", "lib", "main"}
    for room in rooms:
        if room.endswith("_tests"):
            continue
        beside = folder / f"{room}.rs"
        for path in [beside] if beside.exists() else (folder / room).rglob("*.rs"):
            uses[room] |= (set(full_path.findall(read_code(path))) & rooms) - {room}
    return uses


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_than_ten_files_lie_side_by_side(kind: str) -> None:
    counts = count_files(list_sources(kind))
    assert counts, "the folders were not found"
    larger = {folder: count for folder, count in counts.items() if count > MOST_FILES}
    assert not set(larger) - set(LARGER), f"divide by meaning: {larger}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith(_MAY_BE_LONG)])
def test_no_file_is_too_long_to_be_read(kind: str) -> None:
    longer = {path: lines for path in list_sources(kind) if (lines := count_lines(path)) > MOST_LINES}
    assert not longer, f"divide by meaning: {longer}"


def test_an_exception_that_is_no_longer_needed_is_taken_out() -> None:
    for folder in LARGER:
        language = "*.py" if folder.startswith("src/") else "*.rs"
        assert count_files(list_sources(f"{folder}/{language}"))[folder] > MOST_FILES, folder


def test_files_are_counted_by_folder_without_the_docstring_of_a_package() -> None:
    paths = ["a/b/__init__.py", "a/b/c.py", "a/b/d.py", "a/e.py"]
    assert count_files(paths) == {"a/b": 2, "a": 1}


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert find_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_rooms_of_a_crate_do_not_use_each_other_in_a_circle() -> None:
    found = 0
    for source in sorted(ROOT.glob("crates/*/src")):
        for folder in [source, *(path for path in sorted(source.rglob("*")) if path.is_dir())]:
            uses = find_uses(folder, folder.relative_to(source).parts)
            found += sum(map(len, uses.values()))
            circle = find_circle(uses)
            assert not circle, f"{folder.relative_to(ROOT)}: {' -> '.join(circle)}"
    assert found > 100, f"only {found} uses were found"


def test_no_two_files_of_tests_share_a_name() -> None:
    """Python imports each under its name alone: the second one would not be collected."""
    counts = Counter(Path(path).name for path in list_sources("tests/**/test_*.py"))
    assert [name for name, count in counts.items() if count > 1] == []
