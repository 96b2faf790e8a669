"""ARCHITECTURE.md names every folder of the sources, so that its readers find in which one a thing lies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = (ROOT / "ARCHITECTURE.md").read_text().partition("\n## Folders\n")[2].partition("\n## ")[0]
#: Folders of Cargo, which every crate has, and packages that are written for users as they are.
UNNAMED = {"src", "tests", "heap-sort", "shell-sort"}


def list_folders() -> Iterator[Path]:
    """The folders with sources, or what goes with them."""
    for top in (ROOT / "src" / "datamill", *sorted((ROOT / "crates").iterdir())):
        for folder in sorted(top.rglob("*/")):
            within = folder.relative_to(top).parts
            is_test = top.parent.name == "crates" and within[:1] == ("tests",)
            if not is_test and folder.is_dir() and any(path.is_file() for path in folder.iterdir()):
                yield folder


def is_named(folder: Path) -> bool:
    """Whether the page has the folder's name, with a slash behind it or as code."""
    name = re.escape(folder.name)
    return re.search(rf"\b{name}/|`{name}`", FOLDERS) is not None


def test_the_sources_have_folders() -> None:
    assert len(list(list_folders())) > 150


@pytest.mark.parametrize(
    "folder",
    [folder for folder in list_folders() if folder.name not in UNNAMED and folder.name != "__pycache__"],
    ids=lambda folder: str(folder.relative_to(ROOT)),
)
def test_a_folder_of_the_sources_is_named(folder: Path) -> None:
    assert is_named(folder)
