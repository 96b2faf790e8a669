"""The plan of a bundle, as it was stored when the experiment was submitted."""

from __future__ import annotations

import hashlib
from typing import IO

from datamill.service.bundles.logs import ROWS, BundleError
from datamill.service.coordinator.experiments.design_pieces import DesignPieces
from datamill.service.models import FleetExperiment, Trial
from datamill.service.states import TrialPurpose
from datamill.service.watching.reading import Rests


def write_design(experiment: FleetExperiment, file: IO[bytes]) -> set[str]:
    """Write the plan as `design.json`, and return its trials.

    Raises:
        BundleError: when it is not the plan that was sealed when its last trial was entered. There is no seal
            while trials are being entered, nor of experiments from before there were seals.
    """
    trials = Trial.objects.filter(experiment=experiment, purpose=TrialPurpose.DESIGN)
    planned: set[str] = set()
    digest = hashlib.sha256()

    def write(piece: bytes) -> None:
        digest.update(piece)
        file.write(piece)

    pieces = DesignPieces(write)
    rows = trials.order_by("position", "pk").values_list("trial_id", "plan")
    rests = Rests()
    for trial_id, plan in rows.iterator(chunk_size=ROWS):
        rests.rest()
        pieces.add(bytes(plan))
        planned.add(trial_id)
    pieces.end(bytes(experiment.design))
    if experiment.design_sha256 not in (None, digest.hexdigest()):
        raise BundleError("the plan is not the one that was submitted")
    return planned
