"""Options that the verbs about platforms share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from datamill.cli.verbs import DataArgument

_PATH = click.Path(path_type=Path)


def scores_argument(verb: Callable[..., None]) -> Callable[..., None]:
    """Add SCORES, one path or several; the verb gets `scores`, a path or a list of them."""

    @wraps(verb)
    def with_scores(scores: tuple[Path, ...], **rest: Any) -> None:
        verb(scores=scores[0] if len(scores) == 1 else list(scores), **rest)

    return click.argument("scores", metavar="SCORES", cls=DataArgument, nargs=-1, required=True, type=_PATH)(
        with_scores
    )


def machine_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add what is known of machines beside scores, and the response of bundles."""
    verb = click.option(
        "--response", metavar="NAME", default="", help="Response of a bundle [its experiment's first]."
    )(verb)
    return click.option(
        "--machines",
        type=_PATH,
        metavar="FILE",
        help="Facts about machines, one row each: machine, and columns such as clock_mhz, cores, family.",
    )(verb)


def application_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the application's times, and which application is meant."""
    verb = click.option(
        "--name", metavar="NAME", default="", help="Application in TIMES, where it has several."
    )(verb)
    return click.option(
        "--application",
        type=_PATH,
        metavar="TIMES",
        help="The application's times: machine, seconds (or score, of which more is better), replicate.",
    )(verb)


def method_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the level of intervals and the strategy."""
    verb = click.option(
        "--strategy", metavar="NAME", default="", help="Predict with this strategy instead of the default."
    )(verb)
    return click.option(
        "--confidence",
        type=click.FloatRange(0.5, 1, min_open=True, max_open=True),
        metavar="LEVEL",
        help="Level of the intervals [0.9].",
    )(verb)


limit_option = click.option(
    "--limit",
    type=float,
    metavar="ERROR",
    help="Refuse what may well err by more than this share [0.25].",
)

fingerprint_option = click.option(
    "--fingerprint",
    type=_PATH,
    metavar="FILE",
    help="A fingerprint that `fit --save` wrote, in place of the application's times.",
)
