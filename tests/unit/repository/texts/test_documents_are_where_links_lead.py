"""Documents that texts name are there: links of Markdown, and paths that messages and comments write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[4]
#: A link of Markdown to a file of the repository; what follows `#` is not looked at.
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)")
#: A document as messages, comments and pages write it: from the root of the repository.
_NAMED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")
#: Where documents are named; the glossary's links are those of the page that is written from it.
_TEXTS = ("*.md", "docs/**/*.md", "src/**/*.*", "crates/**/*.rs", "packages/**/*.*", "studies/**/*.md")


def find_broken_links(page: Path) -> Iterator[str]:
    """The targets of a page's links that do not exist."""
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if not (page.parent / target).exists():
            yield f"{page.relative_to(ROOT)}: {target}"


def find_missing_documents(file: Path) -> Iterator[str]:
    """The documents that a file names and that do not exist."""
    for named in _NAMED.findall(file.read_text(encoding="utf-8", errors="replace")):
        if not (ROOT / named).exists():
            yield f"{file.relative_to(ROOT)}: {named}"


def list_pages() -> list[Path]:
    """Every page of Markdown that people read."""
    patterns = ("*.md", "docs/**/*.md", "studies/**/*.md", "integrations/**/*.md", "packages/**/*.md")
    return [page for pattern in patterns for page in sorted(ROOT.glob(pattern))]


def test_every_link_of_a_page_leads_to_a_file() -> None:
    pages = list_pages()
    assert len(pages) > 30
    assert [broken for page in pages for broken in find_broken_links(page)] == []


def test_every_document_that_is_named_is_there() -> None:
    files = [
        file for pattern in _TEXTS for file in sorted(ROOT.glob(pattern)) if file.suffix not in (".so", ".gz")
    ]
    files = [file for file in files if file.is_file()]
    assert sum("docs/" in file.read_text(encoding="utf-8", errors="replace") for file in files) > 20
    assert [missing for file in files for missing in find_missing_documents(file)] == []


def test_links_and_named_documents_are_seen_in_a_text() -> None:
    assert _LINK.findall("[a](docs/a.md#b), [c](https://c.org) and [d](#e)") == ["docs/a.md"]
    assert _NAMED.findall("See docs/nowhere.md, not x/docs/b.md.") == ["docs/nowhere.md"]
