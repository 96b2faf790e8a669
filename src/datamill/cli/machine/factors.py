"""`datamill factors`: what can be varied on this host, what it takes, and what the papers found."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from datamill.cli.console import make_console
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.fleet.registry import allow, forbid, register_folder, show_fleet_factors
from datamill.cli.json_answer import spell_answer
from datamill.conduct.question.read_files import read_experiment_file
from datamill.execution.worker import find_worker, read_offers
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.factor_record import Factor
from datamill.experiment.factors.offers import explain_unavailable
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.messages.suggestions import suggest_name
from datamill.packing.user_factors import UserFactor
from datamill.protocol.offers import FactorOffer, MissingLevel

_STAGES = {
    "build": "while the package is built",
    "process": "on the process of run.sh",
    "world": "in the trial's private world, before run.sh",
    "host": "on this machine, restored after each trial",
    "yours": "brought along by the experiment",
}
_LEFT = 26


@dataclass(frozen=True, slots=True)
class _Row:
    """A factor as it is listed: what is known of it and what this host offers."""

    stage: str
    factor: Factor | None
    offer: FactorOffer
    summary: str


@dataclass(frozen=True, slots=True)
class _FactorFacts:
    """A factor as JSON has it; null stands for what is not known of one that an experiment brings along."""

    name: str
    stage: str
    summary: str
    brought_along: bool
    levels: tuple[str, ...]
    other_levels: tuple[str, ...]
    missing: tuple[MissingLevel, ...]
    reason: str
    current: str | None
    default: str | None
    cost: str | None
    found: str | None
    source: str | None


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--all", "with_missing", is_flag=True, help="Also list factors that this host has nothing of.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--name", metavar="FACTOR", help="Only this factor, here or not.")
@click.option("--fleet", is_flag=True, help="Those of the fleet, with how many machines have each level.")
@click.option(
    "--register",
    type=click.Path(path_type=Path, exists=True),
    metavar="FOLDER",
    help="Register a factor of yours at the coordinator, for everybody.",
)
@click.option("--forbid", "forbidden", metavar="FACTOR", help="Forbid it on the fleet (administrators).")
@click.option("--reason", default="", metavar="TEXT", help="Why it is forbidden.")
@click.option("--allow", "allowed", metavar="FACTOR", help="Allow it on the fleet again (administrators).")
@coordinator_options
def factors(
    file: Path | None,
    with_missing: bool,
    as_json: bool,
    name: str | None,
    fleet: bool,
    register: Path | None,
    forbidden: str | None,
    reason: str,
    allowed: str | None,
    url: str | None,
    key: str | None,
) -> None:
    """List the factors that can be varied here, with their levels on this host.

    For each: where it is set, its levels here and those that this host lacks, with the reason, what
    setting it takes, and what the papers found. With an experiment FILE, also the factors that it
    brings along. With --fleet, those of the coordinator's fleet, registered ones too; with --name, one of
    them on each machine.
    """
    if fleet or register is not None or forbidden is not None or allowed is not None:
        asked = [fleet, register is not None, forbidden is not None, allowed is not None]
        if sum(asked) > 1 or file is not None:
            raise click.UsageError("--fleet, --register, --forbid and --allow each stand alone.")
        with connect(url, key) as coordinator:
            if register is not None:
                register_folder(coordinator, register, as_json=as_json)
            elif forbidden is not None:
                forbid(coordinator, forbidden, reason, as_json=as_json)
            elif allowed is not None:
                allow(coordinator, allowed, as_json=as_json)
            else:
                show_fleet_factors(coordinator, name, as_json=as_json)
        return
    brought = read_experiment_file(file).user_factors if file is not None else ()
    rows = list_rows(brought)
    if name is not None:
        known = [row.offer.name for row in rows]
        if name not in known:
            raise click.UsageError(f'there is no factor "{name}". {suggest_name(name, known)}')
        rows = [row for row in rows if row.offer.name == name]
        with_missing = True
    if as_json:
        varied = sum(bool(row.offer.levels) for row in rows)
        answer = f"{varied} of {count_nouns(len(rows), 'factor')} can be varied here."
        click.echo(spell_answer(answer, factors=[_list_facts(row) for row in rows]))
        return
    print_rows(rows, make_console(), with_missing=with_missing)


def list_rows(brought: tuple[UserFactor, ...]) -> list[_Row]:
    """Return the catalogue's factors and those that an experiment brings along, as this host has them."""
    offers = read_offers(find_worker(), user_factors=[factor.path for factor in brought])
    rows = []
    for factor in FACTORS.values():
        nothing = FactorOffer(factor.name, factor.stage, (), reason="this worker does not know it")
        offer = offers.get(factor.name, nothing)
        rows.append(_Row(factor.stage, factor, offer, factor.summary))
    for user_factor in brought:
        nothing = FactorOffer(user_factor.name, "host", (), reason="this worker does not know it")
        offer = offers.get(user_factor.name, nothing)
        rows.append(_Row("yours", None, offer, user_factor.summary))
    return rows


def print_rows(rows: list[_Row], console: Console, *, with_missing: bool) -> None:
    """Print factors by stage; without `with_missing` those that this host lacks are only named at the end."""
    width = min(max(console.width, 60), 110) if console.is_terminal else 110
    for stage, title in _STAGES.items():
        shown = [row for row in rows if row.stage == stage and (with_missing or row.offer.levels)]
        if shown:
            console.print(Text(f"{title[0].upper()}{title[1:]}\n", style="bold"))
        for row in shown:
            _print_block("", row.offer.name, row.summary, console, width, style="bold cyan")
            for label, text in _describe(row):
                _print_block("  ", label, text, console, width, style="dim")
            console.print()
    lacking = [row.offer.name for row in rows if not row.offer.levels]
    if lacking and not with_missing:
        console.print("Not available here (datamill factors --all says why):")
        console.print("\n".join(textwrap.wrap(", ".join(lacking), width)))


def _print_block(indent: str, label: str, text: str, console: Console, width: int, *, style: str) -> None:
    """Print a label and beside it a text, wrapped in a column of its own."""
    first, *rest = textwrap.wrap(text, width - _LEFT - 2) or [""]
    line = Text(f"{indent}{label}".ljust(_LEFT), style=style)
    console.print(line.append(f"  {first}", style="default"))
    for other in rest:
        console.print(Text(" " * (_LEFT + 2) + other))


def _describe(row: _Row) -> list[tuple[str, str]]:
    factor, offer = row.factor, row.offer
    lines = []
    if offer.levels:
        lines.append(("levels here", "  ".join(offer.levels)))
        if patterns := list_patterns(factor, offer):
            lines.append(("or", "; ".join(patterns)))
    if offer.current is not None:
        lines.append(("now", offer.current))
    missing = explain_unavailable(offer)
    if missing:
        lines.append(("not here", missing))
    if factor is not None:
        lines.append(("takes", factor.cost))
        source = f" ({factor.source})" if factor.source else ""
        lines.append(("papers", f"{factor.found}{source}"))
    return lines


def list_patterns(factor: Factor | None, offer: FactorOffer) -> list[str]:
    """Levels beside those with a name; none where a host can only leave the factor as it is."""
    if factor is None:
        return []
    named = set(factor.levels) - {factor.default}
    lacking = named and named <= {item.level for item in offer.missing}
    return [] if lacking else [item.words for item in factor.others]


def _list_facts(row: _Row) -> _FactorFacts:
    factor, offer = row.factor, row.offer
    return _FactorFacts(
        name=offer.name,
        stage=offer.stage,
        summary=row.summary,
        brought_along=factor is None,
        levels=offer.levels,
        other_levels=tuple(list_patterns(factor, offer)),
        missing=offer.missing,
        reason=offer.reason,
        current=offer.current,
        default=factor.default or None if factor is not None else None,
        cost=factor.cost if factor is not None else None,
        found=factor.found if factor is not None else None,
        source=factor.source or None if factor is not None else None,
    )
