"""How machines are booted for trials: a boot each, as their owners allow, and not against what is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datamill.design.fleet.fleet_plan import plan_fleet
from datamill.design.fleet.fleet_records import Candidate
from datamill.design.fleet.reboots import list_reboots
from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.offers import FactorOffer

HEAD = '[experiment]\nname = "boots"\nreplicates = 2\n[[package]]\nname = "a"\npath = "a"\n'
PARAMETERS = '[factors]\nboot_parameters = ["default", "mitigations=off  nosmt"]\n'
OFFERS = {
    "boot_parameters": FactorOffer("boot_parameters", "host", ("default",)),
    "kernel_release": FactorOffer("kernel_release", "host", ("6.1.0-50-amd64", "6.1.0-49-amd64")),
}
WORKER = Candidate(
    worker_id="w",
    name="m",
    hardware={"arch": "x86_64", "machine": "m"},
    offers=OFFERS,
    memory_bytes=1 << 30,
    cores=2,
    reboot=True,
    boot_parameters=("mitigations", "nosmt"),
    kernels=True,
)


def plan(text: str, worker: Candidate = WORKER):
    experiment = parse_experiment(HEAD + text, name="e.toml")
    return experiment, plan_fleet(experiment, [worker])


def test_every_trial_whose_boot_is_a_level_has_a_boot_of_its_own() -> None:
    experiment, found = plan(PARAMETERS)
    levels = [trial.levels["boot_parameters"] for trial in found.design.trials]
    assert sorted(set(levels)) == ["default", "mitigations=off nosmt"]
    assert list(list_reboots(experiment, found.design.trials)) == [True] * len(levels) == [True] * 4


@pytest.mark.parametrize(
    ("text", "worker", "reason"),
    [
        (PARAMETERS, replace(WORKER, boot_parameters=("mitigations",)), "boot parameter nosmt"),
        (PARAMETERS, replace(WORKER, reboot=False), "does not allow reboots"),
        (
            '[factors]\nkernel_release = ["6.1.0-50-amd64", "6.1.0-49-amd64"]\n',
            replace(WORKER, kernels=False),
            "lets no experiment choose the kernel",
        ),
        ('[factors]\nkernel_release = ["6.1.0-50-amd64", "6.6.0"]\n', WORKER, "not among its levels"),
        (
            PARAMETERS,
            replace(
                WORKER,
                offers={"boot_parameters": FactorOffer("boot_parameters", "host", (), reason="no kexec")},
            ),
            "no kexec",
        ),
    ],
)
def test_a_machine_that_cannot_or_must_not_be_booted_so_is_refused_with_the_reason(
    text: str, worker: Candidate, reason: str
) -> None:
    with pytest.raises(InputError) as refused:
        plan(text, worker)
    assert reason in refused.value.remedy


def test_a_coverage_of_kernels_takes_those_that_are_installed_and_allowed() -> None:
    text = '[factors]\nkernel_release = "100%"\n'
    assert {t.levels["kernel_release"] for t in plan(text)[1].design.trials} == {
        "6.1.0-50-amd64",
        "6.1.0-49-amd64",
    }
    kept = plan(text, replace(WORKER, kernels=False))[1].design
    assert {trial.levels["kernel_release"] for trial in kept.trials} == {"6.1.0-50-amd64"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PARAMETERS + '[fleet]\nreboot = "never"\n', 'reboot is "never"'),
        (PARAMETERS + 'reboot = ["none", "before_trial"]\n', '"reboot" says otherwise'),
    ],
)
def test_boots_that_are_asked_for_and_forbidden_are_a_mistake(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        plan(text)


@pytest.mark.parametrize("text", ["", "-- init=/bin/sh", 'x="a b"', "datamill.own=1", "a\x00b"])
def test_what_is_no_parameter_of_the_kernel_is_no_level(text: str) -> None:
    assert FACTORS["boot_parameters"].read_level(text) is None
