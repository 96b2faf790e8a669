"""What a coordinator reads in bundles of a fleet's experiments: scores of machines, times of packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.responses import DEFAULT_RESPONSE
from datamill.platforms.scores.bundle_scores import gather_bundle_scores
from datamill.protocol.api.machines import MachineScore, MachineTime, PackageTimes, ScoreList
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.tables.table import CONTEXT_PREFIX

#: Rows that are taken of one experiment; a suite on thousands of machines has fewer.
MOST_ROWS = 200_000
_MOST_NAMED = 8


def read_suite_scores(folder: str, number: int, members: Mapping[str, str]) -> ScoreList:
    """Read what members of the fingerprint suite took in the bundle of an experiment of a fleet.

    Args:
        folder: the bundle.
        number: of the experiment at its coordinator.
        members: the suite's member for each package of the experiment that is one.

    Returns:
        A row for each valid trial; none, with the reason, where the experiment sets what the suite leaves to
        the machine: times at other levels are no scores of the machine.
    """
    bundle = open_bundle(Path(folder))
    reason = _find_departure(bundle)
    if not reason:
        table = bundle.build_table(bundle.read_records())
        table = table.filter(pl.col("package").is_in(list(members)))
        table = table.with_columns(package=pl.col("package").replace(dict(members)))
        try:
            rows = _gather(bundle, table, DEFAULT_RESPONSE.name)
        except InputError as error:
            reason = error.message
        else:
            if rows.height <= MOST_ROWS:
                names = ("machine", "benchmark", "replicate", "seconds")
                found = rows.select(names).iter_rows(named=True)
                return ScoreList(tuple(MachineScore(**row, experiment_id=number) for row in found))
            reason = f"it has {count_nouns(rows.height, 'value')}, more than are taken of one"
    return ScoreList((), (f"scores in experiment {number} are left out: {reason}",))


def _find_departure(bundle: Bundle) -> str:
    """What an experiment sets that the suite as it is shipped does not; empty where nothing is."""
    experiment = bundle.experiment
    if experiment.choices:
        names = list_first([choice.name for choice in experiment.choices], _MOST_NAMED)
        return f"it sets {names}, which the suite leaves as machines have them"
    if experiment.isolation != "auto":
        return f'it asks for isolation "{experiment.isolation}", which the suite leaves to machines'
    if not any(item == DEFAULT_RESPONSE for item in experiment.responses):
        return f"it does not measure {DEFAULT_RESPONSE.name}"
    return ""


def read_package_times(
    folder: str, number: int, package: str, response: str, *, first: bool = False
) -> PackageTimes:
    """Read what a package took on each machine in the bundle of an experiment of a fleet.

    Args:
        folder: the bundle.
        number: of the experiment at its coordinator.
        package: which application; empty where the experiment has one only.
        response: which response; empty for the experiment's first.
        first: take the first application of several where none is named.

    Raises:
        InputError: there is no such application or response, several of which none is named, or no valid
            value.
    """
    bundle = open_bundle(Path(folder))
    where = f"experiment {number}"
    responses = tuple(item.name for item in bundle.experiment.responses)
    chosen = response or responses[0]
    if chosen not in responses:
        raise InputError(
            f'it has no response "{chosen}"', where=where, remedy=suggest_name(chosen, responses)
        )
    records = bundle.read_records()
    if not records:
        raise InputError(
            "no trial of its design has ended, so there is nothing to predict from",
            where=where,
            remedy="Wait until machines have run it.",
        )
    rows = _gather(bundle, bundle.build_table(records), chosen, where)
    known = tuple(rows["benchmark"].unique(maintain_order=True).to_list())
    application = package or known[0]
    if application not in known or not (package or first or len(known) == 1):
        raise _refuse_application(package, known, where)
    rows = rows.filter(pl.col("benchmark") == application)
    if rows.height > MOST_ROWS:
        raise InputError(
            f"{application} has {count_nouns(rows.height, 'valid trial')}, more than are worked on here",
            where=where,
            remedy="Take the bundle home with datamill fetch, and predict from it.",
        )
    names = ("machine", "replicate", "seconds", "score")
    return PackageTimes(
        number,
        application,
        chosen,
        known,
        responses,
        tuple(MachineTime(*row) for row in rows.select(names).iter_rows()),
        (
            *_warn_of_open_trials(bundle, number, len({record.trial_id for record in records})),
            *_warn_of_reciprocals(chosen, rows["unit"][0]),
        ),
    )


def _refuse_application(package: str, known: tuple[str, ...], where: str) -> InputError:
    asked = argument("package", verb="platforms predict")
    mine = [name for name in known if name.startswith(f"{package} ")]
    if package and not mine:
        return InputError(
            f'there is no valid value of a package "{package}"',
            where=where,
            remedy=suggest_name(package, known),
        )
    several = mine or list(known)
    what = f'package "{package}" has several combinations of levels' if mine else "it has several packages"
    return InputError(
        f"{what}: {list_first(several, _MOST_NAMED)}",
        where=where,
        remedy=f"Say with {asked} which one is to be predicted.",
    )


def _warn_of_open_trials(bundle: Bundle, number: int, ended: int) -> tuple[str, ...]:
    needed = len(bundle.list_needed_trials())
    if ended >= needed:
        return ()
    return (
        f"{needed - ended} of {needed} trials of experiment {number} have no record yet: this rests on the "
        "others",
    )


def _warn_of_reciprocals(response: str, unit: str) -> tuple[str, ...]:
    return (f"scores are 1 / {response}, so that more is better",) if unit.startswith("1/") else ()


def _gather(bundle: Bundle, table: pl.DataFrame, response: str, source: str = "") -> pl.DataFrame:
    responses = {item.name: item for item in bundle.experiment.responses}
    place = next((item for item in bundle.design.factors if item.name == MACHINE_FACTOR), None)
    varied = place is not None and place.role == "factor"
    column = "worker" if place is None else MACHINE_FACTOR if varied else CONTEXT_PREFIX + MACHINE_FACTOR
    factors = [item.name for item in bundle.design.crossed if item.name != MACHINE_FACTOR]
    return gather_bundle_scores(
        table,
        response,
        factors=factors,
        higher=responses[response].direction == "higher",
        source=source,
        place=column,
        levels_of="benchmark",
    )
