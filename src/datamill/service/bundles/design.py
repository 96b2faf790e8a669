"""The plan of a bundle, as it was stored when the experiment was submitted."""

from __future__ import annotations

from typing import IO

import msgspec

from datamill.service.bundles.logs import ROWS
from datamill.service.models import FleetExperiment, Trial, TrialPurpose
from datamill.service.watching.reading import Rests


def write_design(experiment: FleetExperiment, file: IO[bytes]) -> set[str]:
    """Write the plan as `design.json`, and return its trials."""
    trials = Trial.objects.filter(experiment=experiment, purpose=TrialPurpose.DESIGN)
    planned: set[str] = set()
    rows = trials.order_by("position", "pk").values_list("trial_id", "plan")
    file.write(b'{"trials":[')
    rests = Rests()
    for trial_id, plan in rows.iterator(chunk_size=ROWS):
        rests.rest()
        file.write(b"," if planned else b"")
        file.write(bytes(plan))
        planned.add(trial_id)
    head = msgspec.json.decode(bytes(experiment.design))
    head.pop("trials", None)
    file.write(b"]," + msgspec.json.encode(head).removeprefix(b"{"))
    return planned
