"""An experiment file's text, and where in it a key stands."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.file.toml_budget import check_toml_budget
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.suggestions import suggest_name


@dataclass(frozen=True)
class Source:
    """The name and text of an experiment file."""

    name: str
    text: str

    def parse(self) -> dict[str, Any]:
        """Return the file's tables.

        Raises:
            InputError: when the text is not TOML, or more than is read, with the line.
        """
        check_toml_budget(self.text, name=self.name)
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
            line = match[1] if match and match[1] else str(len(self.text.splitlines()))
            cause = str(error).split(" (at ")[0]
            if r"'\n'" in cause:
                cause = "A text has no quotation mark at its end"
            raise InputError(
                f"not valid TOML: {cause[0].lower()}{cause[1:]}", where=f"{self.name}:{line}"
            ) from None

    def locate(self, section: str, key: str = "", *, occurrence: int = 0) -> str:
        """Return `file:line` of a section or of a key in it; `occurrence` counts `[[section]]` tables.

        A key that is not there has its section's line.
        """
        label = " ".join(filter(None, (f"[{section}]" if section else "", key)))
        lines = self._lines.get((section, occurrence), {})
        if not section and key not in lines:
            # A table that belongs to no other has its header's line.
            lines = self._lines.get((key, 0), {})
        number = lines.get(key, lines.get(""))
        return f"{self.name}: {label}" if number is None else f"{self.name}:{number}: {label}"

    def find_line(self, section: str, key: str = "", *, occurrence: int = 0) -> int | None:
        """Return the line of a section's header, or of a key in it; None where the text has none."""
        return self._lines.get((section, occurrence), {}).get(key)

    @cached_property
    def _lines(self) -> dict[tuple[str, int], dict[str, int]]:
        """Line of each key of each section and occurrence; under the empty key that of its header."""
        found: dict[tuple[str, int], dict[str, int]] = {}
        seen: Counter[str] = Counter()
        inside = found["", 0] = {}
        for number, line in enumerate(self.text.split("\n"), start=1):
            text = line.strip()
            if text.startswith("["):
                name = _read_header(text)
                if name is not None:
                    inside = found[name, seen[name]] = {"": number}
                    seen[name] += 1
            elif "=" in text:
                inside.setdefault(_read_key(text), number)
        return found

    def check_keys(
        self, table: Mapping[str, Any], known: Iterable[str], section: str, *, occurrence: int = 0
    ) -> None:
        """Refuse keys that are not known.

        Raises:
            InputError: with the line of each and the nearest known key.
        """
        known, mistakes = tuple(known), Mistakes()

        def check(key: str) -> None:
            if key not in known:
                raise InputError(
                    f'unknown key "{key}"',
                    where=self.locate(section, key, occurrence=occurrence),
                    remedy=suggest_name(key, known),
                )

        for key in table:
            mistakes.attempt(partial(check, key), None)
        mistakes.refuse()


def _read_header(text: str) -> str | None:
    """Return the name in a section's header such as `[[package]]  # first`, None for any other line."""
    opened = 2 if text.startswith("[[") else 1
    end = text.find("]", opened)
    name = text[opened:end].strip().replace('"', "")
    rest = text[end:].lstrip("]").lstrip()
    return name if end > opened and name and (not rest or rest.startswith("#")) else None


def _read_key(text: str) -> str:
    """Return the key of a line such as `"name" = 1`, without its quotes."""
    if text.startswith('"'):
        return text[1:].partition('"')[0]
    return text.partition("=")[0].rstrip()
