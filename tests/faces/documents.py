"""What README and `docs/` show: fenced blocks with their language, and commands of datamill."""

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
#: What ends a command: a remark, a pipe, or words of explanation in a second column.
_END = re.compile(r"\s+#.*$|\s{2,}\S.*$|\s+(&&|\|)\s.*$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the line where it begins."""

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
    def words(self) -> list[str]:
        """The command as a shell divides it, without `datamill`."""
        return shlex.split(self.text)[1:]

    def __str__(self) -> str:
        return f"{self.place} {self.text}"


def list_pages() -> list[Path]:
    """The pages that people read."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def list_blocks(*languages: str) -> list[Block]:
    """The fenced blocks of all pages in these languages."""
    found = []
    for page in list_pages():
        name, begun, lines = str(page.relative_to(ROOT)), None, []
        for number, line in enumerate(page.read_text().splitlines(), 1):
            fence = _FENCE.match(line)
            if fence is None:
                lines.append(line)
            elif begun is None:
                begun, lines = (number, fence[1]), []
            else:
                found.append(Block(name, *begun, "\n".join(lines) + "\n"))
                begun = None
        assert begun is None, f"{name} does not end a block"
    return [block for block in found if block.language in languages]


def list_commands() -> list[Shown]:
    """Every command of datamill in a block or between backquotes."""
    return [*_list_in_blocks(), *_list_in_sentences()]


def _list_in_blocks() -> Iterator[Shown]:
    for block in list_blocks(*_SHELLS):
        for offset, line in enumerate(block.text.replace("\\\n", "").splitlines(), 1):
            for part in line.removeprefix("$ ").split(" && "):
                if part.startswith("datamill "):
                    yield Shown(f"{block.page}:{block.line + offset}", _END.sub("", part))


def _list_in_sentences() -> Iterator[Shown]:
    for page in list_pages():
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for span in _SPAN.finditer(text):
            yield Shown(str(page.relative_to(ROOT)), " ".join(span[1].split()))
