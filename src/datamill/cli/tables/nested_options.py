"""Options that say which columns of a table hold nested measurements; three verbs take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from datamill.verbs.inputs.nested_data import AskedNested

_HELP = {
    "response": "Response to look at, where there are several.",
    "value": "Column of the measured values [value].",
    "version": "Column that tells versions apart [version].",
    "build": "Column that tells the builds of a version apart [build].",
    "execution": "Column that tells the executions of a build apart [execution].",
    "measurement": "Column that orders the measurements of an execution [measurement, else rows].",
    "unit": "Column of units [unit].",
}


def nested_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name columns; the verb gets them as `asked`."""

    @wraps(verb)
    def with_columns(**given: Any) -> None:
        asked = AskedNested(**{name: given.pop(f"column_{name}") for name in _HELP})  # type: ignore[typeddict-item]
        verb(asked=asked, **given)

    for name in reversed(_HELP):
        with_columns = click.option(
            f"--{name}", f"column_{name}", metavar="NAME", default="", help=_HELP[name]
        )(with_columns)
    return with_columns
