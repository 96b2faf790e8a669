"""Texts that Markdown makes nothing else of."""

from __future__ import annotations

import re

#: What would be markup, a formula, a link to an issue or a call of a person. The last two are looked for in
#: what Markdown has made of a text, where no escape is left: a space without width keeps them apart.
_SPELLED = {sign: f"\\{sign}" for sign in "\\`*_[]|~$"} | {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "#": "#\u200b",
}  # fmt: skip
#: Spaces and ends of lines, but not those that hold the groups of a number together.
_SPACES = re.compile("[^\\S\u202f\u00a0]+")


def escape_markdown(text: str) -> str:
    """Return a text in one line, in which names and words of programs stay what they are."""
    return "".join(_SPELLED.get(sign, sign) for sign in _SPACES.sub(" ", text.strip()))
