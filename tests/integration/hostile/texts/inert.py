"""Whether a content takes marked texts for texts: read as browsers, readers of news and programs read it."""

from __future__ import annotations

import csv
import io
import json
import mimetypes
import re
import zipfile
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from integration.hostile.texts.marked_texts import EVALUATED, MARK, TURNS

from datamill.service import pages

#: Attributes whose value is where a browser goes, or what it loads.
_ADDRESSES = re.compile(r"(^|:)(href|src|action|formaction|data|poster|cite|background|srcset)$")
#: Addresses that run or hold a program.
_RUN = re.compile(r"[\x00-\x20]*(javascript|vbscript|data):", re.IGNORECASE)


_VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_SHEET = Path(pages.__file__).parents[1] / "static" / "datamill" / "style.css"
_RULE = re.compile(r"([^{}/]+)\{ unicode-bidi: isolate; }")
#: Elements of which a text turns round nothing beside them: by themselves, and by our style sheet.
_ISOLATED = {
    "caption", "dd", "div", "dt", "figcaption", "h1", "h2", "h3", "li", "main", "option", "p", "pre",
    "section", "summary", "td", "textarea", "th", "title",
    *re.findall(r"\w+", _RULE.findall(_SHEET.read_text(encoding="utf-8"))[0]),
}  # fmt: skip


class _Page(HTMLParser):
    """Reads a page, and notes what came to be of texts."""

    def __init__(self, *, is_ours: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self._is_ours = is_ours
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if MARK.search(tag):
            self.problems.append(f"an element <{tag}>")
        if tag not in _VOID:
            self._open.append(tag)
        for name, value in attrs:
            self.problems += find_attribute(tag, name, value or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        # A figure's data are in a script, of which they end nothing: else they would be met outside.
        if inside == "style" and MARK.search(data):
            self.problems.append("a text in a style sheet")
        if self._is_ours and TURNS in data and inside not in _ISOLATED:
            self.problems.append(f"a text that turns round what stands beside <{inside}>")

    def handle_comment(self, data: str) -> None:
        if MARK.search(data):
            self.problems.append("a text in a comment")


def find_attribute(tag: str, name: str, value: str) -> list[str]:
    """Return what is wrong with an attribute of an element."""
    found = []
    if MARK.search(name):
        found.append(f"an attribute {name} of <{tag}>")
    if name.startswith("on") and MARK.search(value):
        found.append(f"a program in {name} of <{tag}>")
    if name in ("style", "srcdoc") and MARK.search(value):
        found.append(f"a text in {name} of <{tag}>")
    if _ADDRESSES.search(name) and _RUN.match(value):
        found.append(f"an address {value[:40]} in {name} of <{tag}>")
    return found


def check_page(content: str) -> list[str]:
    """Return what a page makes of texts but texts."""
    page = _Page(is_ours=_SHEET.name in content)
    page.feed(content)
    page.close()
    return page.problems


def check_xml(content: str) -> list[str]:
    """Return what is wrong in a picture or feed: that no reader takes it, or has an element of a text."""
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        return [f"no XML: {error}"]
    found = []
    for element in root.iter():
        tag = str(element.tag).rpartition("}")[2]
        if MARK.search(tag) or tag in ("script", "foreignObject"):
            found.append(f"an element <{tag}>")
        for name, value in element.attrib.items():
            found += find_attribute(tag, name.rpartition("}")[2], value)
    return found


def check_json(content: str) -> list[str]:
    """Return what is wrong in JSON; markup in it, which oEmbed has, is read as such."""
    told = json.loads(content)
    markup = told.get("html", "") if isinstance(told, dict) else ""
    return check_page(markup) if isinstance(markup, str) else []


def check_csv(content: str) -> list[str]:
    """Return what is wrong in a table: rows of another width than the first, cells that are formulas."""
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    widths = {len(row) for row in rows}
    found = [] if len(widths) <= 1 else [f"rows of {sorted(widths)} cells"]
    cells = (cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r")))
    formulas = [cell for cell in cells if not re.fullmatch(r"[+-][\d.]+(e[+-]?\d+)?", cell)]
    return [*found, *(f"a formula {cell[:40]}" for cell in formulas)]


def check_events(content: str) -> list[str]:
    """Return lines of server-sent events that are none of ours."""
    ours = re.compile(r"(id: [\w.:-]+|event: (progress|output|event|end)|data: [\[{].*|retry: \d+|:.*|)")
    return [f"a line {line[:60]}" for line in content.split("\n") if not ours.fullmatch(line)]


CHECKS: Mapping[str, Callable[[str], list[str]]] = {
    "text/html": check_page,
    "image/svg+xml": check_xml,
    "application/atom+xml": check_xml,
    "application/json": check_json,
    "text/csv": check_csv,
    "text/event-stream": check_events,
}


def check_archive(content: bytes) -> list[str]:
    """Return what is wrong in the files of an archive that is taken home."""
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            kind = mimetypes.guess_type(name)[0]
            if kind in CHECKS:
                found += [f"{name}: {problem}" for problem in CHECKS[kind](archive.read(name).decode())]
    return found


#: What no browser shows or runs, as it is told what it is.
_STILL = ("text/plain", "application/", "image/png")


def find_problems(content_type: str, content: str, headers: Mapping[str, str]) -> list[str]:
    """Return what is wrong with an answer that holds marked texts."""
    kind = content_type.partition(";")[0]
    found = []
    if headers.get("X-Content-Type-Options") != "nosniff":
        found.append("may be taken for something else than it says")
    if kind in CHECKS and content:
        found += CHECKS[kind](content)
    elif content and not kind.startswith(_STILL):
        found.append(f"is of a kind that nobody looked at: {kind}")
    # In JSON of figures and in files the text stands as it was typed; nobody else's product is in them.
    if EVALUATED in content:
        found.append("a text was evaluated")
    return found
