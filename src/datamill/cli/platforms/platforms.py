"""The group `datamill platforms`."""

from __future__ import annotations

import click

from datamill.cli.signals import leave_to_kernel
from datamill.cli.tables.working import KEY, Working
from datamill.cli.verbs import VerbGroup

_VERBS = {
    "fit": "Can this application be predicted from this suite, and from what?",
    "predict": "Its time on every machine where it was not measured, with intervals.",
    "choose": "Which machines should it be measured on?",
    "rank": "Which machine is best for it, and how sure is that?",
    "evaluate": "How well do strategies predict? Each benchmark held out as the application.",
    "scores": "Fetch the scores that a fleet's machines have.",
    "suite": "Make an experiment of the fingerprint suite, for machines without scores.",
}


@click.group(
    cls=VerbGroup,
    verbs=_VERBS,
    package="datamill.cli.platforms",
    rooms={"scores": "fleet"},
    short_help="How fast will it run on a machine that I cannot use?",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def platforms(context: click.Context) -> None:
    """Predict an application on machines that cannot be used, from scores of a benchmark suite.

    Measure the application on a few machines of which published scores exist; the others are predicted.

    \b
      datamill platforms choose scores.csv --count 7
      datamill platforms fit scores.csv --application times.csv
      datamill platforms predict scores.csv --application times.csv
      datamill platforms rank scores.csv --application times.csv --prices prices.csv
      datamill platforms evaluate scores.csv
      datamill platforms predict --experiment 7
    """  # noqa: D301 - click needs the backspace itself
    # Numerical libraries compute for seconds without returning to Python, which could not answer Ctrl-C.
    leave_to_kernel()
    name = f"platforms {context.invoked_subcommand or ''}".rstrip()
    context.meta[KEY] = context.with_resource(Working(name))
