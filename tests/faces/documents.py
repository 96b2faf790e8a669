"""What README and `docs/` show: blocks with their language, and commands of datamill."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Languages of blocks that show commands; a block without one shows them too.
_SHELLS = ("sh", "")
_FENCE = re.compile(r"^ *```(\w*) *$")
_SPAN = re.compile(r"`(datamill [^`]+)`")
#: How far a block is indented that has no fence.
_INDENT = "    "
#: What stands between the commands of a line.
_BETWEEN = re.compile(r"\s(?:&&|\|)\s")
#: What ends a command: a remark, words of explanation in a second column, or a pipe in a table's cell.
_END = re.compile(r"\s+#.*$|\s{2,}\S.*$|\s\\\|.*$")


@dataclass(frozen=True)
class Block:
    """A block of a page, and the line before its first."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Shown:
    """A command that a page shows, as it is typed, and where."""

    place: str
    text: str

    @property
    def page(self) -> str:
        """The page that shows it."""
        return self.place.partition(":")[0]

    @property
    def is_in_block(self) -> bool:
        """Whether it stands in a block, as it is typed, and not in a sentence."""
        return ":" in self.place

    @property
    def words(self) -> list[str]:
        """The command as a shell divides it, without `datamill`."""
        return shlex.split(self.text)[1:]

    def __str__(self) -> str:
        return f"{self.place} {self.text}"


def list_pages() -> list[Path]:
    """The pages that people read."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def list_blocks(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages; one that is indented instead of fenced has none."""
    return [block for page in list_pages() for block in _divide_page(page) if block.language in languages]


def _divide_page(page: Path) -> Iterator[Block]:
    name, begun, lines = str(page.relative_to(ROOT)), None, []
    indented: list[str] = []
    before = ""
    for number, line in enumerate([*page.read_text().splitlines(), ""], 1):
        fence = _FENCE.match(line)
        if begun is not None:
            if fence is None:
                lines.append(line)
            else:
                yield Block(name, *begun, "\n".join(lines) + "\n")
                begun = None
        elif line.startswith(_INDENT) and (indented or not before.strip() or before.startswith("#")):
            indented.append(line.removeprefix(_INDENT))
        else:
            if indented:
                yield Block(name, number - len(indented) - 1, "", "\n".join(indented) + "\n")
                indented = []
            if fence is not None:
                begun, lines = (number, fence[1]), []
        before = line
    assert begun is None, f"{name} does not end a block"


def list_commands() -> list[Shown]:
    """Every command of datamill in a block or between backquotes."""
    return [*_list_in_blocks(), *_list_in_sentences()]


def _list_in_blocks() -> Iterator[Shown]:
    for block in list_blocks(*_SHELLS):
        for offset, line in enumerate(block.text.replace("\\\n", "").splitlines(), 1):
            for part in _BETWEEN.split(line.removeprefix("$ ")):
                typed = part.removeprefix(".venv/bin/")
                if typed.startswith("datamill "):
                    yield Shown(f"{block.page}:{block.line + offset}", _END.sub("", typed))


def _list_in_sentences() -> Iterator[Shown]:
    for page in list_pages():
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for span in _SPAN.finditer(text):
            yield Shown(str(page.relative_to(ROOT)), _END.sub("", " ".join(span[1].split())))
