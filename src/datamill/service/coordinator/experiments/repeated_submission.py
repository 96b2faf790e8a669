"""Whether an experiment that is submitted is the one that its owner submitted just before."""

from __future__ import annotations

import msgspec
from django.contrib.auth.models import User
from django.db.models import Q

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment as Asked
from datamill.experiment.messages.arguments import argument
from datamill.experiment.quantities import format_duration
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.coordinator.experiments.experiments import ENTERING
from datamill.service.models import FleetExperiment, Trial
from datamill.service.states import OPEN_EXPERIMENTS, ExperimentState, TrialPurpose

#: How long after its submission one that has ended counts as submitted just now.
_JUST_NOW_S = 600.0


def check_repetition(owner: User, text: str, asked: Asked, head: BundleHead, now_s: float) -> None:
    """Refuse an experiment whose file and packages are, to the byte, those of one of its owner's.

    That is one that is under way, or was submitted within ten minutes and not cancelled; and with the same
    policy of reboots, and debug trials only when these are asked for again.

    Raises:
        InputError: with its number, and how to submit the experiment nevertheless.
    """
    recent = Q(state=ExperimentState.COMPLETED, submitted_unix_s__gt=now_s - _JUST_NOW_S)
    alike = FleetExperiment.objects.filter(
        Q(state__in=OPEN_EXPERIMENTS) | recent, owner=owner, text=text, reboot=asked.fleet.reboot
    )
    brought = _list_brought(head)
    for found in alike.order_by("-pk"):
        designed = Trial.objects.filter(experiment=found, purpose=TrialPurpose.DESIGN).exists()
        if found.state_reason != ENTERING and designed == (asked.fleet.debug == "only"):
            continue
        if _list_brought(msgspec.json.decode(bytes(found.head), type=BundleHead)) == brought:
            age = format_duration(max(1.0, round(now_s - found.submitted_unix_s)))
            raise InputError(
                f"you submitted the same experiment {age} ago: it is experiment {found.pk} ({found.state})",
                where=head.experiment_file,
                remedy=f"datamill watch {found.pk} shows it. To run it once more, submit it with "
                f"{argument('again', verb='submit')}.",
            )


def _list_brought(head: BundleHead) -> list[tuple[str, str, str]]:
    kinds = (("package", head.packages), ("load", head.loads), ("factor", head.factors))
    return sorted((kind, item.name, item.sha256) for kind, items in kinds for item in items)
