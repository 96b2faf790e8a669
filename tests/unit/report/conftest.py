"""Pages whose words are looked at: each form of a chart is drawn once, and what repeats it is left blank.

To draw a page's figures takes longer than all else about it. Whether a chart can be drawn depends on its
form: which parts it has, and of which kinds, whatever the numbers and names in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from datamill.report.figures import views

BLANK = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
#: What the form of a chart does not depend on: its rows, and what people read.
_CONTENT = frozenset({"data", "datasets", "title", "name", "description", "values", "domain", "sort"})
_drawn: set[str] = set()


def find_form(part: Any) -> Any:
    """Return a chart without its content: keys and words stay, numbers do not."""
    if isinstance(part, dict):
        return {key: find_form(item) for key, item in part.items() if key not in _CONTENT}
    if isinstance(part, list):
        return [find_form(item) for item in part]
    return part if isinstance(part, str | bool) else type(part).__name__


def draw_first(draw: Callable[[str], str], chart: str) -> str:
    """Draw a chart unless one of its form was drawn before."""
    form = json.dumps(find_form(json.loads(chart)), sort_keys=True)
    if form in _drawn:
        return BLANK
    drawn = draw(chart)
    _drawn.add(form)
    return drawn


@pytest.fixture
def drawings() -> None:
    """All figures of this test's pages are drawn: it looks at them."""


@pytest.fixture(autouse=True)
def draw_each_form_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave blank what no test looks at, unless it asks for `drawings`."""
    if "drawings" not in request.fixturenames:
        draw = views._draw
        monkeypatch.setattr(views, "_draw", lambda chart: draw_first(draw, chart))
