"""An experiment file's text, and where in it a key stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.suggestions import suggest_name

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Source:
    """The name and text of an experiment file."""

    name: str
    text: str

    def parse(self) -> dict[str, Any]:
        """Return the file's tables.

        Raises:
            InputError: when the text is not TOML, with the line.
        """
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
            line = match[1] if match and match[1] else str(len(self.text.splitlines()))
            cause = str(error).split(" (at ")[0]
            raise InputError(
                f"not valid TOML: {cause[0].lower()}{cause[1:]}", where=f"{self.name}:{line}"
            ) from None

    def locate(self, section: str, key: str = "", *, occurrence: int = 0) -> str:
        """Return `file:line` of a section or of a key in it; `occurrence` counts `[[section]]` tables."""
        seen = -1
        inside = False
        label = f"[{section}]" + (f" {key}" if key else "")
        for number, line in enumerate(self.text.splitlines(), start=1):
            header = _HEADER.match(line)
            if header:
                inside = header[1].replace('"', "") == section
                seen += inside
                if inside and seen == occurrence and not key:
                    return f"{self.name}:{number}: {label}"
            elif inside and seen == occurrence and re.match(rf'\s*"?{re.escape(key)}"?\s*=', line):
                return f"{self.name}:{number}: {label}"
        return f"{self.name}: {label}"

    def check_keys(
        self, table: Mapping[str, Any], known: Iterable[str], section: str, *, occurrence: int = 0
    ) -> None:
        """Refuse a key that is not known.

        Raises:
            InputError: with the line and the nearest known key.
        """
        known = tuple(known)
        for key in table:
            if key not in known:
                raise InputError(
                    f'unknown key "{key}"',
                    where=self.locate(section, key, occurrence=occurrence),
                    remedy=suggest_name(key, known),
                )
