"""What axe-core finds wrong with a page: rules of WCAG 2 at the levels A and AA, and its best practices."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import pytest

_FIND = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
  found => `${found.id}: ${found.help}: ` +
    found.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")
)"""


def find_violations(page: Any) -> list[str]:
    """Return a line for each rule that the page as it is now breaks, with its first places."""
    page.evaluate(_read_axe())
    found: list[str] = page.evaluate(_FIND)
    return found


@cache
def _read_axe() -> str:
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    return files(package).joinpath("axe.min.js").read_text(encoding="utf-8")
