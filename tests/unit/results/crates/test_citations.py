"""How a result is cited, whatever its title and its authors are called."""

from __future__ import annotations

import json
import re

import pytest

from datamill.experiment.errors import InputError
from datamill.results.crates.citation import cite_as_bibtex, cite_as_cff, cite_as_text
from datamill.results.crates.description import describe, describe_unpublished, read_organisation

ADDRESS = "https://lab.example/publications/0123456789ab"


def test_a_citation_names_authors_year_title_address_and_digest() -> None:
    said = describe("Which is faster?", "Doe, Jane Mary\nRoe, Richard", "MIT", now_s=1.8e9, address=ADDRESS)
    assert cite_as_text(said) == (
        f"Doe J. M. and Roe R. (2027): Which is faster? Experiment, datamill. {ADDRESS}."
    )
    bibtex = cite_as_bibtex(said)
    assert bibtex.startswith("@misc{doe2027,")
    assert "author = {Doe, Jane Mary and Roe, Richard}" in bibtex
    assert f"url = {{{ADDRESS}}}" in bibtex


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", None),
        (" \n", None),
        ("The Lab", ("The Lab", "")),
        ("The  Lab  <https://lab.example/a?b=c>", ("The Lab", "https://lab.example/a?b=c")),
        ("研究所<http://lab.example>", ("研究所", "http://lab.example")),
    ],
)
def test_an_organisation_is_read_with_its_address_or_without(text: str, read: tuple[str, str] | None) -> None:
    found = read_organisation(text)
    assert (None if found is None else (found.name, found.address)) == read


@pytest.mark.parametrize(
    "text",
    ["<https://lab.example>", "Lab <lab.example>", "Lab <javascript:x>", "Lab <https://a b>", "x" * 301],
)
def test_an_organisation_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_organisation(text)
    assert caught.value.remedy


def test_the_organisation_of_people_stands_in_the_citation_file() -> None:
    said = describe(
        "t", "Doe, Jane\nThe Lab", "MIT", now_s=1.8e9, organisation="Univ. of X <https://x.example>"
    )
    assert cite_as_cff(said).count('    affiliation: "Univ. of X"\n') == 1


def test_a_title_of_any_length_is_shown_of_what_nobody_has_published() -> None:
    said = describe_unpublished("x" * 900, "ada", now_s=1.8e9)
    assert (len(said.title), said.title[-1]) == (300, "…")
    assert "license" not in cite_as_cff(said)


@pytest.mark.parametrize("title", ["100% & more_ {of} \\it", 'a "quoted": [title] #1', "line\nbreak", "x: y"])
def test_no_title_breaks_a_file(title: str) -> None:
    said = describe(title, "O'Neil, Ann\n研究所", "CC0-1.0", now_s=1.8e9, summary=title)
    cff = cite_as_cff(said)
    # Each text is a JSON text, which is a quoted text of YAML on one line.
    for line in cff.splitlines():
        value = re.fullmatch(r"[ -]*[a-z-]+: (\".*\")", line)
        if value:
            json.loads(value[1])
    assert f"title: {json.dumps(said.title, ensure_ascii=False)}" in cff
    assert '  - name: "研究所"' in cff
    bibtex = cite_as_bibtex(said)
    unescaped = re.sub(r"\\[{}&%$#_]", "", bibtex.replace(r"\textbackslash{}", ""))
    assert unescaped.count("{") == unescaped.count("}")
    assert "%" not in unescaped
    assert "&" not in unescaped


@pytest.mark.parametrize(
    ("title", "authors", "licence", "words"),
    [
        ("", "Doe, Jane", "MIT", "no title"),
        ("x" * 301, "Doe, Jane", "MIT", "too long"),
        ("t", " \n,", "MIT", "no author"),
        ("t", "\n".join(["a"] * 101), "MIT", "too many"),
        ("t", "x" * 400, "MIT", "too long"),
        ("t", "a", "mine", "not one of those"),
    ],
)
def test_what_cannot_be_cited_is_refused(title: str, authors: str, licence: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        describe(title, authors, licence, now_s=1.8e9)
    assert caught.value.remedy


def test_characters_that_are_no_text_are_taken_out() -> None:
    assert describe("a\x1b[2Jb\x00", "x", "MIT", now_s=1.8e9).title == "a [2Jb"
