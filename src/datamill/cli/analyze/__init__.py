"""`datamill analyze`: inference on tables, without an experiment; one module a verb."""

from __future__ import annotations

import click

from datamill.cli.signals import leave_to_kernel
from datamill.cli.tables.working import KEY, Working
from datamill.cli.verbs import VerbGroup

_VERBS = {
    "anova": "Linear model and analysis of variance.",
    "quantiles": "Quantile regression: effects on the median, the 99th percentile, any quantile.",
    "tests": "Compare groups; you state the assumption, the test follows.",
    "variability": "Coefficient of variation and skewness, and whether a factor changes them.",
    "variance": "Where uncertainty comes from: builds, executions or measurements.",
    "hardware": "What a dimension of hardware does; machines are what was sampled.",
    "summary": "Five-number summaries, box plots, distributions.",
}


@click.group(
    cls=VerbGroup,
    verbs=_VERBS,
    package="datamill.cli.analyze",
    short_help="Analyse a table of measurements.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def analyze(context: click.Context) -> None:
    """Analyse a table of measurements from any source."""
    # Kernels run for seconds without returning to Python, which could not answer Ctrl-C; nothing needs
    # undoing.
    leave_to_kernel()
    name = f"analyze {context.invoked_subcommand or ''}".rstrip()
    context.meta[KEY] = context.with_resource(Working(name))
