"""How machines of a fleet are booted for trials: which kernel, with which parameters.

Both are factors of the host that its worker cannot set while it runs: each trial of an experiment that names
one has a boot of its own, in which the running kernel starts the other one (kexec). The machine's owner says
which may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.messages.arguments import argument
from datamill.protocol.offers import FactorOffer, MissingLevel

#: Parameters that are added to the machine's own.
BOOT_PARAMETERS = "boot_parameters"
#: Which installed kernel runs.
KERNEL_RELEASE = "kernel_release"
BOOT_FACTORS = (BOOT_PARAMETERS, KERNEL_RELEASE)
_REBOOT_FACTOR = "reboot"


def varies_boots(experiment: Experiment) -> bool:
    """Tell whether an experiment names how machines are booted, so that each of its trials has a boot."""
    return any(choice.name in BOOT_FACTORS for choice in experiment.choices)


def check_boots(experiment: Experiment) -> None:
    """Refuse an experiment that names how machines are booted, and not to boot them before each trial.

    Raises:
        InputError: with the factor that asks for boots, and what speaks against them.
    """
    named = next((choice for choice in experiment.choices if choice.name in BOOT_FACTORS), None)
    if named is None:
        return
    if any(choice.name == _REBOOT_FACTOR for choice in experiment.choices):
        raise InputError(
            f'"{named.name}" boots the machine before every trial, and "{_REBOOT_FACTOR}" says otherwise',
            where=named.where or f"factor {named.name}",
            remedy=f'Leave "{_REBOOT_FACTOR}" out.',
        )
    if experiment.fleet.reboot in ("never", "block"):
        raise InputError(
            f'"{named.name}" needs a boot before each trial, and reboot is "{experiment.fleet.reboot}"',
            where="[fleet] reboot",
            remedy='Write reboot = "trial" there, or submit with '
            f"{argument('reboot', 'trial', verb='submit')}.",
        )


def offer_allowed_boots(
    experiment: Experiment, worker: Candidate, offers: Mapping[str, FactorOffer]
) -> dict[str, FactorOffer]:
    """Return a worker's offers of how it is booted, with what its owner does not allow among the missing.

    Args:
        experiment: whose levels are looked at: any text may be a parameter.
        worker: with what its owner allows.
        offers: of the worker, by factor.
    """
    changed = {}
    parameters = offers.get(BOOT_PARAMETERS)
    if parameters is not None and parameters.levels:
        barred = [
            MissingLevel(level, f"its owner does not allow the boot parameter {name} (boot_parameters)")
            for choice in experiment.choices
            if choice.name == BOOT_PARAMETERS
            for level in choice.levels
            if level not in FACTORS[BOOT_PARAMETERS].levels
            if (name := _find_barred(level, worker)) is not None
        ]
        changed[BOOT_PARAMETERS] = replace(parameters, missing=(*parameters.missing, *barred))
    kernels = offers.get(KERNEL_RELEASE)
    if kernels is not None and len(kernels.levels) > 1 and not worker.kernels:
        reason = "its owner lets no experiment choose the kernel (kernels)"
        missing = tuple(MissingLevel(level, reason) for level in kernels.levels[1:])
        changed[KERNEL_RELEASE] = replace(
            kernels, levels=kernels.levels[:1], missing=(*kernels.missing, *missing)
        )
    return changed


def _find_barred(level: str, worker: Candidate) -> str | None:
    """Return the first parameter of a level that the owner does not allow, None when all are."""
    names = (word.partition("=")[0] for word in level.split())
    return next((name for name in names if name not in worker.boot_parameters), None)
