"""`datamill packages`: what comes with datamill to be measured."""

from __future__ import annotations

from dataclasses import dataclass

import click

from datamill.cli.console import make_console, name_command
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.units import spell_unit
from datamill.packing.shipped_packages import (
    ShippedPackage,
    ShippedResponse,
    find_shipped_package,
    list_shipped_packages,
)

_BETTER = {"higher": ", higher is better", "lower": ", lower is better", "": ""}
_KINDS = {
    "benchmark": "Benchmarks",
    "adapter": "Adapters for what you have a licence of",
    "load": "Background loads, which run beside a trial",
}


@dataclass(frozen=True, slots=True)
class _ResponseFacts:
    """A response of a package as JSON has it; null stands for what it does not say."""

    name: str
    unit: str
    direction: str | None
    formula: str | None
    repeated: bool


@dataclass(frozen=True, slots=True)
class _PackageFacts:
    """A package as JSON has it."""

    name: str
    kind: str
    measures: str
    responses: tuple[_ResponseFacts, ...]
    licence: str
    fetched_first: tuple[str, ...]
    needs: str | None
    programs: tuple[str, ...]
    missing_programs: tuple[str, ...]
    runs_here: bool


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def packages(names: tuple[str, ...], as_json: bool) -> None:
    """List the packages that come with datamill, or those of the given names.

    For each: what it measures, its responses with their units, licence, whether sources are fetched
    first, and whether it can run here. Start from one with datamill new NAME --from PACKAGE.
    """
    chosen = tuple(find_shipped_package(name) for name in names) or list_shipped_packages()
    if as_json:
        facts = [_list_facts(package) for package in chosen]
        able = sum(item.runs_here for item in facts)
        answer = f"{able} of {count_nouns(len(facts), 'package')} can run here."
        click.echo(spell_answer(answer, packages=facts))
        return
    console = make_console()
    kind = ""
    for package in chosen:
        if package.kind != kind and not names:
            kind = package.kind
            console.print(f"[bold]{_KINDS[kind]}[/bold]\n")
        console.print(f"[bold]{package.name}[/bold]: {package.summary}")
        for label, text in _describe_package(package):
            console.print(f"  [dim]{label}:[/dim] {text}")
        console.print()
    console.print(f"{name_command()} new NAME --from PACKAGE makes an experiment of one that runs as it is.")


def _describe_package(package: ShippedPackage) -> list[tuple[str, str]]:
    lines = []
    if package.responses:
        lines.append(("responses", ", ".join(_describe_response(response) for response in package.responses)))
    repeated = [response.name for response in package.responses if response.repeated]
    if repeated:
        lines.append(("many measurements in one execution", ", ".join(repeated)))
    lines.append(("licence", package.licence))
    if package.list_fetched():
        lines.append(
            ("fetched first", f"sources of {', '.join(package.list_fetched())}, from Debian's archive")
        )
    if package.missing:
        lines.append(("needs", package.missing))
    absent = package.list_missing_programs()
    if absent:
        lines.append(("cannot run here", f"not on this machine: {', '.join(absent)}"))
    return lines


def _describe_response(response: ShippedResponse) -> str:
    unit = "a number" if response.unit == "1" else spell_unit(response.unit)
    return f"{response.name} ({unit}{_BETTER[response.direction]})"


def _list_facts(package: ShippedPackage) -> _PackageFacts:
    missing_programs = tuple(package.list_missing_programs())
    return _PackageFacts(
        name=package.name,
        kind=package.kind,
        measures=package.summary,
        responses=tuple(
            _ResponseFacts(
                response.name,
                response.unit,
                response.direction or None,
                response.formula or None,
                response.repeated,
            )
            for response in package.responses
        ),
        licence=package.licence,
        fetched_first=tuple(package.list_fetched()),
        needs=package.missing or None,
        programs=tuple(package.programs),
        missing_programs=missing_programs,
        runs_here=not package.missing and not missing_programs,
    )
