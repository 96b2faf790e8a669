"""What all pages have in common: templates, looks, and the scripts of the interactive figures."""

from __future__ import annotations

from typing import Any

import jinja2

from datamill import __version__
from datamill.report.figures.vega_runtime import load_vega_runtime


def fill_template(template: str, *, interactive: bool, **content: Any) -> str:
    """Fill in a page's template; text is escaped, and figures come alive where there are any."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("datamill.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    runtime = load_vega_runtime() if interactive else ""
    return environment.get_template(template).render(version=__version__, runtime=runtime, **content)
