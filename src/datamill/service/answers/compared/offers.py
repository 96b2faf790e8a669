"""What experiments of the database have to be compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from datamill.design.design import DesignFactor
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.answers.compared.question import CommonGround, ExperimentOffer, share_offers
from datamill.service.models import FleetExperiment, Trial, TrialCount
from datamill.service.states import TrialPurpose, TrialState


class _StoredDesign(msgspec.Struct, frozen=True):
    """The part of a stored design that says what varies."""

    factors: tuple[DesignFactor, ...]


def find_common_ground(experiments: Sequence[FleetExperiment]) -> CommonGround:
    """Find what experiments have in common, in the order of the first one.

    Raises:
        InputError: a file is one that this version of datamill no longer reads.
    """
    return share_offers([_read_offer(experiment) for experiment in experiments])


def _read_offer(experiment: FleetExperiment) -> ExperimentOffer:
    head = msgspec.json.decode(bytes(experiment.head), type=BundleHead)
    try:
        question = parse_experiment(experiment.text, name="experiment.toml")
    except InputError as problem:
        raise problem.moved(f"experiment {experiment.pk}") from None
    factors = msgspec.json.decode(bytes(experiment.design), type=_StoredDesign).factors
    return ExperimentOffer(
        experiment.pk,
        _list_packages(experiment, head),
        question.responses,
        tuple(
            replace(factor, levels=_list_machines(experiment)) if factor.name == MACHINE_FACTOR else factor
            for factor in factors
        ),
    )


def _list_packages(experiment: FleetExperiment, head: BundleHead) -> tuple[str, ...]:
    """Return the packages of which a trial counted: all trials of one may have failed."""
    counted = Trial.objects.filter(
        experiment=experiment, purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED
    )
    return tuple(
        package.name for package in head.packages if counted.filter(package_sha256=package.sha256).exists()
    )


def _list_machines(experiment: FleetExperiment) -> tuple[str, ...]:
    """Return the machines that made the trials that count: some may have been planned on others."""
    counts = TrialCount.objects.filter(
        experiment=experiment, purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED, trials__gt=0
    )
    return tuple(counts.order_by("worker__name").values_list("worker__name", flat=True).distinct())
