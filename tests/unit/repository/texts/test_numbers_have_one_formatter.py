"""Numbers that people read are rounded in one place, so that the same number looks the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[4] / "src" / "datamill"
#: A number rounded in place, inside a formatted string.
ROUNDED = re.compile(
    r"\{[^{}:!\n]+:[+,]*(?:\.(?:\d+|\{[^{}\n]+\}))?[gfe%]\}|\{[^{}:!\n]+:,\}"
    r"|replace\(\"-\", \"\u2212\"\)"
)
#: A number rounded by Django's own filters, in a template.
FILTERED = re.compile(r"\|(?:floatformat|intcomma|stringformat)\b")
#: All rooms: what they write goes on pages, on terminals, into Markdown and logs.
ROOMS = sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists())
#: Files that round in place, how often, and why.
ALLOWED = {
    "cli/machine/worker.py": (1, "what is typed again: an option of the worker"),
    "experiment/messages/numbers.py": (10, "the formatter"),
    "experiment/quantities.py": (8, "the formatter of sizes, durations and clocks"),
    "report/plan/json.py": (1, "a figure of JSON, without the error of its last bits"),
    "report/plan/statement.py": (5, "what is typed again: options and lines of an experiment file"),
    "report/tests/statement.py": (1, "a level is rounded before it is spelled"),
    "service/coordinator/joining/hardware.py": (
        3,
        "levels of hardware, typed into experiment files",
    ),
    "verbs/inputs/arguments.py": (2, "what is typed again: a fraction for an option"),
}
#: Templates that round by themselves, how often, and why.
IN_TEMPLATES = {"service/templates/datamill/fleet/queue.html": (1, "what is typed again: a share in a form")}


@pytest.mark.parametrize("room", ROOMS)
def test_texts_round_numbers_by_the_formatter_alone(room: str) -> None:
    found = {}
    for file in sorted((SOURCE / room).rglob("*.py")):
        if count := len(ROUNDED.findall(file.read_text(encoding="utf-8"))):
            found[str(file.relative_to(SOURCE))] = count
    allowed = {name: count for name, (count, _) in ALLOWED.items() if name.startswith(f"{room}/")}
    assert found == allowed, "use datamill.experiment.messages.numbers"


def test_templates_round_numbers_by_the_formatter_alone() -> None:
    found = {}
    for file in sorted(SOURCE.rglob("*.html")):
        if count := len(FILTERED.findall(file.read_text(encoding="utf-8"))):
            found[str(file.relative_to(SOURCE))] = count
    assert found == {name: count for name, (count, _) in IN_TEMPLATES.items()}, (
        "use filters of service.pages.tags"
    )


@pytest.mark.parametrize(
    "source",
    [
        "{share:.1f}",
        "{100 * rate.low:.{decimals}f}",
        "{value:.{digits - 1}e}",
        "{count:,}",
        'x.replace("-", "−")',
    ],
)
def test_a_number_that_is_rounded_in_place_is_found(source: str) -> None:
    assert ROUNDED.findall(source) == [source.removeprefix("x.")]
