"""Before which trials of a fleet their machine is rebooted.

`[fleet] reboot` says so, unless the experiment names the factor `reboot`: then the level of each trial does.
What runs a trial does not set this factor: the machine was rebooted, or not, before it began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from datamill.design.design import PlannedTrial
from datamill.design.fleet.boots import varies_boots
from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.experiment import Experiment
from datamill.protocol.api.submissions import RebootPolicy
from datamill.protocol.offers import FactorOffer, MissingLevel

#: The factor whose level is set by whoever leases trials to workers, and not by the worker that runs them.
REBOOT_FACTOR = "reboot"
#: Its level with a reboot just before the trial.
REBOOTED = "before_trial"
#: Its level without one.
NOT_REBOOTED = "none"


def varies_reboots(experiment: Experiment) -> bool:
    """Tell whether reboots are a factor of the experiment, rather than a matter of `[fleet]`."""
    return any(choice.name == REBOOT_FACTOR for choice in experiment.choices)


def asks_for_reboots(experiment: Experiment) -> bool:
    """Tell whether some trial of the experiment is to be preceded by a reboot, for all that is known yet."""
    if varies_boots(experiment):
        return True
    for choice in experiment.choices:
        if choice.name == REBOOT_FACTOR:
            return choice.coverage is None and REBOOTED in choice.levels
    return experiment.fleet.reboot in ("trial", "block")


def settle_reboots(experiment: Experiment, machines: Iterable[Candidate]) -> Experiment:
    """Settle "auto": a reboot before each trial of the experiment where all these machines allow it."""
    if experiment.fleet.reboot != "auto":
        return experiment
    policy: RebootPolicy = "trial" if all(machine.reboot for machine in machines) else "never"
    return replace(experiment, fleet=replace(experiment.fleet, reboot=policy))


def offer_reboots(*, allowed: bool) -> FactorOffer:
    """Return what a worker of a fleet offers of the factor, whose owner allows reboots or not."""
    if allowed:
        return FactorOffer(REBOOT_FACTOR, "world", (NOT_REBOOTED, REBOOTED))
    missing = MissingLevel(REBOOTED, "its owner does not allow reboots")
    return FactorOffer(REBOOT_FACTOR, "world", (NOT_REBOOTED,), (missing,))


def list_reboots(experiment: Experiment, trials: Iterable[PlannedTrial]) -> Iterator[bool]:
    """Yield for each trial of a design, in their order, whether its machine is rebooted just before it.

    An experiment that names how machines are booted has a boot for each trial. With
    `[fleet] reboot = "block"` that is every `block_trials` trials of a machine, its first among them.
    """
    by_level, by_boot = varies_reboots(experiment), varies_boots(experiment)
    policy = experiment.fleet.reboot
    done: Counter[str] = Counter()
    for trial in trials:
        if by_level:
            yield trial.levels.get(REBOOT_FACTOR) == REBOOTED
            continue
        machine = trial.levels.get("machine", "")
        yield (
            by_boot
            or policy == "trial"
            or (policy == "block" and done[machine] % experiment.fleet.block_trials == 0)
        )
        done[machine] += 1
