"""What may disappoint in an experiment that is sound."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.conduct.question.needed_metrics import list_near_names
from datamill.conduct.question.read_files import FoundExperiment
from datamill.design.design import DesignFactor
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.nesting import is_drawn_build
from datamill.design.points.factorial import find_missing_error
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, NO_LOAD
from datamill.experiment.factors.offers import explain_unavailable


def list_replication_doubts(experiment: Experiment, factors: Sequence[DesignFactor]) -> list[str]:
    """Return what nested replication may fail to show, one sentence each."""
    nested = experiment.replication
    if nested is None:
        return []
    doubts = []
    if nested.builds > 1 and not any(is_drawn_build(factor) for factor in factors):
        doubts.append(
            f"nothing is drawn for the {nested.builds} builds of a package: a compiler that always does the "
            "same makes them all alike. Write randomise_builds = true."
        )
    if nested.builds == 1 and nested.randomise_builds:
        doubts.append("randomise_builds draws one build only: chance in compilation needs several builds.")
    return doubts


def list_lost_factors(read: FoundExperiment, found: FoundExperiment) -> list[str]:
    """Return which factors of the policy are not available here and why, one sentence each."""
    kept = {choice.name for choice in found.experiment.nuisance}
    lost = [choice.name for choice in read.experiment.nuisance if choice.name not in kept]
    # What only a screening names was not asked for by anyone.
    whatever = "" if read.experiment.design.kind == "screening" else ", whatever [nuisance] says"
    return [f"{name} is left as it is{whatever}: {explain_unavailable(found.offers[name])}." for name in lost]


def list_idle_factors(factors: Sequence[DesignFactor], unbuilt: Sequence[str]) -> list[str]:
    """Return which factors change nothing in some or all trials, one sentence each.

    `unbuilt` are the packages without a `setup.sh`.
    """
    idle = []
    # Another package or machine is another build, and yet changes more than that.
    built = [item.name for item in factors if item.build and item.name not in ("package", MACHINE_FACTOR)]
    if unbuilt and built:
        idle.append(
            f"{' and '.join(built)} {'changes' if len(built) == 1 else 'change'} nothing for "
            f"{' and '.join(unbuilt)}, which {'has' if len(unbuilt) == 1 else 'have'} no setup.sh: trials "
            "there are alike at all levels."
        )
    levels = {factor.name: factor.levels for factor in factors}
    if len(levels.get("session", ())) > 1 and NO_LOAD in levels.get(BACKGROUND_LOAD, ()):
        idle.append(
            f"session changes nothing where {BACKGROUND_LOAD} is {NO_LOAD}: trials there are alike at all of "
            "its levels."
        )
    return idle


def list_doubts(
    experiment: Experiment, factors: Sequence[DesignFactor], trials: int, unbuilt: Sequence[str]
) -> list[str]:
    """Return what is allowed and yet may disappoint, one sentence each.

    Args:
        experiment: what is asked.
        factors: those of its design.
        trials: how many its design has.
        unbuilt: packages without a `setup.sh`.
    """
    doubts = [*list_idle_factors(factors, unbuilt), *list_replication_doubts(experiment, factors)]
    kind = experiment.design.kind
    if kind == "screening" and experiment.replicates == 1:
        doubts.append(
            "one replicate shows no error: effects are judged by Lenth's method, as if most of them were "
            "nothing. replicates = 2 is better."
        )
    if few := find_missing_error(experiment, factors, trials):
        doubts.append(few)
    return [*doubts, *list_near_names(experiment)]
