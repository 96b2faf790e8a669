"""Who builds for machines that are too weak for it: workers with compilers for their architecture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.offers import Offers

_COMPILER_VERSION = "compiler_version"


def check_builds(experiment: Experiment) -> None:
    """Refuse what cross compilation cannot be together with.

    Raises:
        InputError: with what speaks against it.
    """
    if experiment.fleet.build_on != "cross":
        return
    if experiment.isolation == "guest":
        raise InputError(
            'build_on = "cross" builds on another machine, and isolation = "guest" in each guest',
            where="[fleet] build_on",
            remedy='Leave one of them out; build_on = "strongest" goes with guests.',
        )
    if experiment.fleet.debug == "only":
        raise InputError(
            'debug = "only" asks the machine that measures to build, and build_on = "cross" another one',
            where="[fleet] debug",
            remedy='Write debug = "first": the builds themselves then come before all trials.',
        )


def choose_builders(
    experiment: Experiment, chosen: Sequence[Candidate], candidates: Sequence[Candidate]
) -> dict[str, Candidate]:
    """Return for each architecture of the chosen workers who builds for it; empty unless that is asked for.

    It is the strongest of all workers with compilers for it; that of the whole fleet's strongest worker needs
    none.

    Args:
        experiment: the question.
        chosen: workers that measure.
        candidates: all workers that might take part; one that does not measure may build.

    Raises:
        InputError: when no worker can build for one of them.
    """
    if experiment.fleet.build_on != "cross":
        return {}
    ranked = sorted(candidates, key=_rank)
    builders = {}
    for arch in sorted({item.hardware.get("arch", "") for item in chosen}):
        builder = _find_builder(arch, ranked)
        if builder is None:
            known = sorted({known for item in candidates for known in item.cross})
            who = ", ".join(item.name for item in chosen if item.hardware.get("arch", "") == arch)
            raise InputError(
                f"no machine of the fleet can cross build for {arch}, the architecture of {who}",
                where="[fleet] build_on",
                remedy=(
                    f"Machines can build for {', '.join(known)}."
                    if known
                    else "No machine has cross compilers."
                )
                + f" Install a cross compiler for {arch} on a strong machine, such as gcc-aarch64-linux-gnu "
                "and g++-aarch64-linux-gnu of Debian, and start its worker again, "
                'or write build_on = "worker".',
            )
        builders[arch] = builder
    return builders


def lend_build_offers(
    experiment: Experiment, offers: Mapping[str, Offers], candidates: Sequence[Candidate]
) -> dict[str, Offers]:
    """Return what each worker offers, factors of the build as the machine that builds for it has them.

    Args:
        experiment: the question.
        offers: of each worker, by its name.
        candidates: all workers that might take part.
    """
    if experiment.fleet.build_on != "cross":
        return dict(offers)
    ranked = sorted(candidates, key=_rank)
    lent = {}
    for item in candidates:
        arch = item.hardware.get("arch", "")
        builder = _find_builder(arch, ranked)
        own = offers[item.name]
        if builder is None or not own:
            lent[item.name] = own
            continue
        of_builder = {
            name: offer
            for name, offer in offers[builder.name].items()
            if name in FACTORS and FACTORS[name].build
        }
        if _COMPILER_VERSION in of_builder and arch in builder.cross:
            versions = of_builder[_COMPILER_VERSION]
            of_builder[_COMPILER_VERSION] = replace(versions, levels=(builder.cross[arch],), missing=())
        lent[item.name] = {**own, **of_builder}
    return lent


def _find_builder(arch: str, ranked: Sequence[Candidate]) -> Candidate | None:
    """Return who builds for an architecture, of workers with the strongest first; None where nobody can."""
    builder = next((item for item in ranked if arch in item.cross), None)
    if builder is None and ranked and ranked[0].hardware.get("arch", "") == arch:
        return ranked[0]
    return builder


def _rank(worker: Candidate) -> tuple[int, int, int, str]:
    return (-worker.cores, -worker.memory_bytes, -worker.clock_khz, worker.name)
