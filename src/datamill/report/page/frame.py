"""What all pages have in common: templates, looks, and the scripts of the interactive figures."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from datamill import __version__
from datamill.late import jinja2
from datamill.report.figures.vega_runtime import load_vega_runtime
from datamill.report.tables.statement import Code, Heading, Paragraph
from datamill.report.tables.table import Table
from datamill.report.words.short_names import apply_short_names
from datamill.report.words.term_names import spell_terms_of_design

if TYPE_CHECKING:
    from jinja2 import Environment

#: Short words with a hyphen, such as the level `-g`, that a browser would break behind it.
_HYPHENED = re.compile(r"(?<!\S)\S*-\S*")
#: Longer words must be broken on narrow screens.
_LONGEST_WHOLE = 24


def keep_whole(text: str) -> Markup:
    """Text, escaped, whose words with hyphens stay on one line."""
    pieces, end = [], 0
    for found in _HYPHENED.finditer(text):
        if len(found.group()) <= _LONGEST_WHOLE:
            pieces += [
                escape(text[end : found.start()]),
                Markup('<span class="whole">'),
                escape(found.group()),
            ]
            pieces.append(Markup("</span>"))
            end = found.end()
    return Markup("").join([*pieces, escape(text[end:])])


def fill_template(template: str, *, interactive: bool, **content: Any) -> str:
    """Fill in a page's template; text is escaped, and figures come alive where there are any."""
    runtime = load_vega_runtime() if interactive else ""
    return _load_templates().get_template(template).render(version=__version__, runtime=runtime, **content)


@cache
def _load_templates() -> Environment:
    """Return what holds the templates, each compiled once a process, which takes longer than to fill one."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("datamill.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["keep_whole"] = keep_whole
    environment.filters["spell_terms"] = spell_terms_of_design
    environment.filters["shorten"] = apply_short_names
    for kind in (Code, Heading, Paragraph, Table):
        environment.tests[kind.__name__.lower()] = lambda part, kind=kind: isinstance(part, kind)
    return environment
