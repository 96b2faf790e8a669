"""Where the packages of somebody else's experiment come to lie, and what its file then says."""

from __future__ import annotations

import tomllib

import pytest

from datamill.cli.published.fork import place_files
from datamill.experiment.errors import InputError
from datamill.protocol.api.submissions import ExperimentSource as Source
from datamill.protocol.api.submissions import FileKind, SubmittedFile


def make_source(text: str, *files: tuple[str, FileKind]) -> Source:
    packages = tuple(
        SubmittedFile(name, kind, f"{place:064x}", 1) for place, (name, kind) in enumerate(files)
    )
    return Source(7, "naps", "ada", text, packages)


def place(source: Source) -> tuple[dict[str, str], dict[str, list[str]]]:
    text, places = place_files(source)
    found = tomllib.loads(text)
    named = {kind: [entry["path"] for entry in found.get(kind, []) if "path" in entry] for kind in found}
    return {file.name: folder for file, folder in places}, named


def test_what_lies_beside_the_file_stays_there() -> None:
    text = '[[package]]\nname = "a"\npath = "pkgs/a"\n[[package]]\nname = "b"\npath = "pkgs/b"\n'
    source = make_source(text, ("a", "package"), ("b", "package"))
    assert place_files(source)[0] == text
    assert place(source)[0] == {"a": "pkgs/a", "b": "pkgs/b"}


@pytest.mark.parametrize("path", ["/home/ada/a", "../a", "a/b/../../../a", "a.tar.gz", "experiment.toml/a"])
def test_what_lay_elsewhere_comes_to_lie_in_the_folder(path: str) -> None:
    places, named = place(make_source(f'[[package]]\nname = "a"\npath = "{path}"\n', ("a", "package")))
    assert (places, named["package"]) == ({"a": "a"}, ["a"])


def test_two_of_one_name_lie_apart() -> None:
    text = '[[package]]\nname = "a"\npath = "/x/a"\n[[load]]\nname = "a"\npath = "/y/a"\n'
    text_made, places = place_files(make_source(text, ("a", "package"), ("a", "load")))
    assert [folder for _, folder in places] == ["a", "a-2"]
    assert tomllib.loads(text_made)["load"][0]["path"] == "a-2"


def test_a_folder_within_another_is_no_place() -> None:
    text = '[[package]]\nname = "a"\npath = "a"\n[[package]]\nname = "b"\npath = "a/b"\n'
    places, _ = place(make_source(text, ("a", "package"), ("b", "package")))
    assert places == {"a": "a", "b": "b"}


def test_a_command_in_the_file_needs_no_folder() -> None:
    text = '[[package]]\nname = "a"\ncommand = "true"\n'
    assert place_files(make_source(text, ("a", "package"))) == (text, [])


def test_a_spelling_that_cannot_be_changed_is_refused() -> None:
    text = '[[package]]\nname = "a"\npath = "/home/\\u0061da/a"\n'
    with pytest.raises(InputError, match="another place"):
        place_files(make_source(text, ("a", "package")))
