"""The registry of factors at the coordinator: listed, registered, forbidden and allowed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from urllib.parse import quote

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.phrases import count_nouns
from datamill.packing.members import pack_members
from datamill.packing.user_factors import read_user_factor
from datamill.protocol.api.fleet.factors import FactorBan, FactorRegistration, FleetFactor, FleetFactorDetail


def show_fleet_factors(coordinator: CoordinatorClient, name: str | None, *, as_json: bool) -> None:
    """Print all factors of the fleet, or one with what each machine has of it."""
    if name is None:
        _show_all(coordinator.get("/factors", list[FleetFactor]), as_json=as_json)
    else:
        detail = coordinator.get(f"/factors/{_spell(name)}", FleetFactorDetail)
        _show_one(detail, as_json=as_json)


def register_folder(coordinator: CoordinatorClient, path: Path, *, as_json: bool) -> None:
    """Register the factor in a folder or archive for everybody; only one that is new is sent.

    Raises:
        InputError: when it is no factor, or the coordinator refuses it.
    """
    factor = read_user_factor(path)
    with tempfile.TemporaryDirectory(prefix="datamill-factor-") as folder:
        packed = pack_members(path, Path(folder) / f"{factor.name}.tar.gz")
        coordinator.upload(packed.archive, packed.sha256, kind="factor", name=factor.name)
        detail = coordinator.post("/factors", FleetFactorDetail, FactorRegistration(packed.sha256))
    if as_json:
        click.echo(spell_answer(f"{detail.name} is registered.", factor=detail))
        return
    print_clean(f"{detail.name} is registered as {packed.sha256}.")


def forbid(coordinator: CoordinatorClient, name: str, reason: str, *, as_json: bool) -> None:
    """Forbid a factor on the whole fleet."""
    detail = coordinator.post(f"/factors/{_spell(name)}/forbid", FleetFactorDetail, FactorBan(reason))
    _tell_change(detail, "is forbidden in what is submitted from now on", as_json=as_json)


def allow(coordinator: CoordinatorClient, name: str, *, as_json: bool) -> None:
    """Allow a factor again."""
    detail = coordinator.post(f"/factors/{_spell(name)}/allow", FleetFactorDetail)
    _tell_change(detail, "is allowed again", as_json=as_json)


def _tell_change(detail: FleetFactorDetail, became: str, *, as_json: bool) -> None:
    sentence = f"{detail.name} {became}."
    click.echo(spell_answer(sentence, factor=detail) if as_json else sentence)


def _spell(name: str) -> str:
    return quote(name, safe="")


def _show_all(found: list[FleetFactor], *, as_json: bool) -> None:
    registered = sum(factor.sha256 is not None for factor in found)
    answer = f"The fleet knows {count_nouns(len(found), 'factor')}, of which users registered {registered}."
    if as_json:
        click.echo(spell_answer(answer, factors=found))
        return
    console = make_table_console()
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("factor", "stage", "whose", "levels (machines)", "on this fleet"):
        table.add_column(header, overflow="fold")
    for factor in found:
        levels = ", ".join(f"{level} ({count})" for level, count in factor.levels.items())
        table.add_row(
            Text(factor.name),
            Text(factor.stage),
            Text(factor.owner or "datamill"),
            Text(levels or ("asked for in trials" if factor.sha256 else "none")),
            _spell_rule(factor),
        )
    console.print(table)
    console.print(answer)


def _spell_rule(factor: FleetFactor) -> Text:
    if factor.forbidden is None:
        return Text("allowed")
    return Text(f"forbidden: {factor.forbidden}" if factor.forbidden else "forbidden", style="yellow")


def _show_one(factor: FleetFactorDetail, *, as_json: bool) -> None:
    machines = count_nouns(len(factor.machines), "machine")
    allowing = [machine for machine in factor.machines if machine.allowed_by_owner]
    if factor.sha256 is None:
        having = sum(bool(machine.levels) for machine in allowing)
        share = f"{having} of {machines} offer it"
    else:
        share = f"owners of {len(allowing)} of {machines} allow it"
    answer = f"{factor.name}: {factor.summary}; {share}."
    if as_json:
        click.echo(spell_answer(answer, factor=factor))
        return
    console = make_table_console()
    console.print(Text(answer))
    if factor.forbidden is not None:
        reason = f": {factor.forbidden}" if factor.forbidden else ""
        console.print(Text(f"An administrator forbids it on this fleet{reason}.", style="yellow"))
    for number, sha256 in enumerate(factor.versions):
        console.print(Text(f"{'newest archive' if number == 0 else 'earlier archive'} {sha256}", style="dim"))
    _print_machines(factor, console)


def _print_machines(factor: FleetFactorDetail, console: Console) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("machine", "owner", "levels", "what is missing, and why"):
        table.add_column(header, overflow="fold")
    for machine in factor.machines:
        levels = "not asked" if machine.levels is None else ", ".join(machine.levels) or "none"
        table.add_row(Text(machine.machine), Text(machine.owner), Text(levels), Text(machine.reason))
    console.print(table)
