"""`datamill doctor`: what this machine offers and lacks for measuring, and how to get it."""

from __future__ import annotations

from dataclasses import asdict

import click
import msgspec

from datamill.cli.console import clean_for_terminal
from datamill.cli.json_answer import spell_answer
from datamill.execution.diagnosis.examine import examine
from datamill.execution.diagnosis.finding import Finding, summarize_findings
from datamill.execution.diagnosis.machine_state import read_machine
from datamill.execution.diagnosis.worker_findings import UPDATE
from datamill.execution.errors import WorkerError
from datamill.execution.worker import ask_worker, find_worker
from datamill.experiment.errors import InputError
from datamill.protocol.fleet import Inventory

EXIT_IMPOSSIBLE = 1
_MARKS = {"offered": ("ok", "green"), "lacking": ("!!", "yellow"), "impossible": ("no", "red")}
_TOPIC_WIDTH = 23


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def doctor(as_json: bool) -> None:
    """Say what this machine offers and lacks for measuring, and how to get it.

    Nothing is changed and nothing measured: datamill worker noise measures how quiet it is.

    Exit status: 0 when experiments can run here, 1 when something makes measuring impossible.
    """
    findings = _ask()
    if as_json:
        click.echo(spell_findings(findings))
    else:
        for text, color in list_lines(findings):
            click.secho(clean_for_terminal(text), fg=color)
    if any(item.standing == "impossible" for item in findings):
        raise SystemExit(EXIT_IMPOSSIBLE)


def _ask() -> tuple[Finding, ...]:
    machine = read_machine()
    try:
        binary = find_worker()
        told = msgspec.json.decode(ask_worker(binary, "inventory", "--fleet"), type=Inventory)
    except InputError as error:
        return examine(machine, None, problem=error.message, remedy=error.remedy)
    except WorkerError as error:
        return examine(machine, None, problem=str(error))
    except msgspec.MsgspecError as error:
        problem = f"{binary} is of another version than this datamill: {error}"
        return examine(machine, None, problem=problem, remedy=UPDATE)
    return examine(machine, told, path=str(binary))


def spell_findings(findings: tuple[Finding, ...]) -> str:
    """Return what `--json` prints."""
    return spell_answer(
        summarize_findings(findings),
        possible=all(item.standing != "impossible" for item in findings),
        findings=[
            {name: value for name, value in asdict(item).items() if name != "phrase"} for item in findings
        ],
        warnings=[f"{item.topic}: {item.text}." for item in findings if item.standing != "offered"],
    )


def list_lines(findings: tuple[Finding, ...]) -> list[tuple[str, str | None]]:
    """Return the lines for a terminal, each with its colour."""
    lines: list[tuple[str, str | None]] = [(summarize_findings(findings), None), ("", None)]
    for item in findings:
        mark, color = _MARKS[item.standing]
        lines.append((f"{mark}  {item.topic:<{_TOPIC_WIDTH}}{item.text}", color))
        if item.remedy:
            lines.append((f"{'':<{_TOPIC_WIDTH + 4}}-> {item.remedy}", None))
    return lines
