"""A badge that says in a few words what a publication found, as an SVG that needs nothing but itself."""

from __future__ import annotations

from typing import Literal
from xml.sax.saxutils import escape

Look = Literal["good", "plain", "warn", "bad"]
#: Ground of the right half: white on each has a contrast of at least 4.5.
_GROUNDS: dict[Look, str] = {"good": "#1a7f4b", "plain": "#1f6fb2", "warn": "#8a5c00", "bad": "#b3261e"}
_HEIGHT, _PADDING, _LETTER = 20, 7, 6.4
#: Badges with more do not fit beside others.
MOST_LETTERS = 80


def draw_badge(left: str, right: str, look: Look) -> str:
    """Return a badge of two texts."""
    left, right = left[:MOST_LETTERS], right[:MOST_LETTERS]
    first, second = (round(len(text) * _LETTER + 2 * _PADDING) for text in (left, right))
    title, ground = escape(f"{left}: {right}"), _GROUNDS[look]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(title, {chr(34): "&quot;"})}"><title>{title}</title>'
        f'<rect width="{first + second}" height="{_HEIGHT}" rx="3" fill="#3b434b"/>'
        f'<path d="M{first} 0h{second - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{second - 3}z" fill="{ground}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_PADDING}" y="14" textLength="{first - 2 * _PADDING}">{escape(left)}</text>'
        f'<text x="{first + _PADDING}" y="14" textLength="{second - 2 * _PADDING}">{escape(right)}</text>'
        "</g></svg>\n"
    )
