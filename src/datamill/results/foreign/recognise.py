"""Which tool wrote a file: from its content, never from its name."""

from __future__ import annotations

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.foreign.content import Content, refuse_broken_json
from datamill.results.foreign.foreign_results import ForeignFormat
from datamill.results.foreign.formats.asv import ASV
from datamill.results.foreign.formats.asv_text import ASV_TEXT
from datamill.results.foreign.formats.benchfmt import BENCHFMT
from datamill.results.foreign.formats.criterion import CARGO_CRITERION, CRITERION
from datamill.results.foreign.formats.google_benchmark import GOOGLE_BENCHMARK
from datamill.results.foreign.formats.hyperfine import HYPERFINE
from datamill.results.foreign.formats.jmh import JMH
from datamill.results.foreign.formats.pyperf import PYPERF
from datamill.results.foreign.formats.pytest_benchmark import PYTEST_BENCHMARK
from datamill.results.foreign.formats.rebench import REBENCH

#: All formats, in the order in which they are tried; no content is claimed by two.
FORMATS = (
    HYPERFINE, PYPERF, PYTEST_BENCHMARK, GOOGLE_BENCHMARK, JMH, CARGO_CRITERION, CRITERION, BENCHFMT, REBENCH,
    ASV, ASV_TEXT,
)  # fmt: skip

#: First columns of exports that hold summaries only, with what to ask the tool for instead.
_SUMMARIES = {
    "command,mean,stddev,median": ("hyperfine's CSV", "Export with --export-json."),
    '"Benchmark","Mode","Threads","Samples","Score"': ("JMH's CSV", "Export with -rf json."),
    "name,iterations,real_time,cpu_time,time_unit": (
        "Google Benchmark's CSV",
        "Write JSON with --benchmark_out=FILE --benchmark_out_format=json.",
    ),
}


def recognise_format(content: Content, *, forced: str = "") -> ForeignFormat:
    """Return the format of a file, or the one of that name when `forced`.

    Raises:
        InputError: no such format, the JSON is not whole, the file holds summaries only, or no
            format claims it.
    """
    if forced:
        found = next((item for item in FORMATS if item.name == forced), None)
        if found is None:
            raise InputError(
                f'there is no format "{forced}"',
                remedy=suggest_name(forced, [item.name for item in FORMATS]),
            )
        if not found.claims(content):
            refuse_broken_json(content)
            raise InputError(
                f"the file is not {found.title}",
                where=content.source,
                remedy=f"Leave out {argument('format', verb='import')} to have the format recognised.",
            )
        return found
    for item in FORMATS:
        if item.claims(content):
            return item
    first = content.lines[0] if content.lines else ""
    for header, (title, remedy) in _SUMMARIES.items():
        if first.startswith(header):
            raise InputError(
                f"{title} holds summaries, not the observations behind them",
                where=content.source,
                remedy=remedy,
            )
    if content.first_object and len(content.lines) > 1 and content.document is None:
        raise InputError(
            "these are JSON lines of no known tool",
            where=content.source,
            remedy=f"Formats: {_list_titles()}.",
        )
    refuse_broken_json(content)
    known = content.source.lower().endswith((".csv", ".parquet"))
    instead = "datamill analyze reads it" if known else "rename it to .csv for datamill analyze and compare"
    raise InputError(
        "the format is not recognised",
        where=content.source,
        remedy=f"Tried: {_list_titles()}; {argument('format', 'NAME', verb='import')} asks for one of "
        "them. A "
        f"{'CSV or Parquet' if known else 'comma-separated'} table needs no import: {instead}.",
    )


def _list_titles() -> str:
    return ", ".join(f"{item.title} ({item.name})" for item in FORMATS)
