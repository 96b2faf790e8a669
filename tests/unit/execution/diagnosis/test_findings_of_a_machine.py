"""`datamill doctor`: what follows from played facts of a machine and of its worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from datamill.execution.diagnosis.examine import examine
from datamill.execution.diagnosis.finding import Finding, summarize_findings
from datamill.execution.diagnosis.machine_state import MachineState
from datamill.experiment.factors.catalogue import FACTORS
from datamill.protocol.fleet import CompilerVersion, GuestOffer, Inventory
from datamill.protocol.offers import FactorOffer, MissingLevel
from datamill.protocol.trial import SCHEMA_VERSION, HostFacts

GIB = 1024**3
#: A quiet machine of one's own, with all that measuring can use.
MACHINE = MachineState(
    python="3.12.1",
    load=0.02,
    processors=8,
    steal_share=0.0,
    driver="intel_pstate",
    governors=("performance",),
    turbo=False,
    smt=False,
    aslr=2,
    perf_paranoid=2,
    on_battery=False,
    throttled=0,
    control_groups=2,
    free_bytes=100 * GIB,
)
WORKER = Inventory(
    schema=2,
    trial_schema=SCHEMA_VERSION,
    worker_version="0.1.0",
    hostname="quiet",
    host=HostFacts("x86_64", "6.12", "Some processor", 8, 16 * GIB, "boot"),
    clock_khz=3_000_000,
    caches=(),
    distribution="debian 12",
    compilers=(CompilerVersion("gcc", "12.2.0"), CompilerVersion("clang", "14.0.6")),
    counters=True,
    isolation="confined",
    root=True,
    free_disk_bytes=100 * GIB,
    factors=tuple(FactorOffer(name, factor.stage, ("a", "b")) for name, factor in FACTORS.items()),
    clock_unix_ns=0,
    guest=GuestOffer("kvm", "", ()),
)


def find(topic: str, machine: dict[str, Any] | None = None, worker: dict[str, Any] | None = None) -> Finding:
    """The finding of a topic on a machine that differs from the ideal one in what is given."""
    told = msgspec.structs.replace(WORKER, **(worker or {}))
    findings = examine(replace(MACHINE, **(machine or {})), told, path="/bin/datamill-worker")
    [found] = [item for item in findings if item.topic == topic]
    return found


def test_an_ideal_machine_lacks_nothing() -> None:
    findings = examine(MACHINE, WORKER, path="/bin/datamill-worker")
    assert {item.standing for item in findings} == {"offered"}
    assert summarize_findings(findings) == (
        "This machine can run trials in confined private worlds, read hardware counters and vary "
        f"{len(FACTORS)} of {len(FACTORS)} hidden factors; it lacks nothing."
    )


#: What is played of the machine, and the topic, words of the text and of the remedy that follow from it.
LACKING: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "no cpufreq": ({"governors": ()}, "clock", "no cpufreq driver", ""),
    "a guest's clock": ({"governors": (), "hypervisor": True}, "clock", "the hypervisor sets it", ""),
    "a lazy governor": (
        {"governors": ("powersave",)},
        "clock",
        "governor powersave, by intel_pstate",
        "cpupower frequency-set -g performance",
    ),
    "turbo of Intel": ({"turbo": True}, "turbo", "on", "intel_pstate/no_turbo"),
    "turbo of others": ({"turbo": True, "driver": "acpi-cpufreq"}, "turbo", "on", "cpufreq/boost"),
    "shared cores": ({"smt": True}, "SMT", "share a core", "echo off | sudo tee"),
    "one layout": ({"aslr": 0}, "address randomisation", "is 0", "sysctl -w kernel.randomize_va_space=2"),
    "load": ({"load": 3.0}, "load", "3.00 over the last minute", "datamill worker noise"),
    "no load told": ({"load": None}, "load", "does not tell", "datamill worker noise"),
    "battery": ({"on_battery": True}, "power", "on battery", "Plug it in"),
    "heat": ({"throttled": 3}, "heat", "3 times since boot", "cpupower"),
    "container": ({"container": "/.dockerenv"}, "neighbours", "in a container", "datamill worker noise"),
    "virtual machine": (
        {"hypervisor": True, "steal_share": 0.02},
        "neighbours",
        "the hypervisor took 2.0% of the time",
        "datamill worker noise",
    ),
    "no control groups": (
        {"control_groups": 0},
        "control groups",
        "may divide none",
        "Log in through systemd",
    ),
    "little room": ({"free_bytes": GIB}, "disk", "1.0 GiB free", "du -xhd1"),
}


@pytest.mark.parametrize("played", LACKING)
def test_what_a_machine_lacks_is_told_with_its_remedy(played: str) -> None:
    machine, topic, words, remedy = LACKING[played]
    found = find(topic, machine)
    assert found.standing == "lacking"
    assert words in found.text
    assert remedy in found.remedy
    assert bool(remedy) == bool(found.remedy)


#: The same of what the worker says, beside what the machine does.
WORKER_LACKS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "not root": ({"root": False}, {}, "user", "not root", "sudo "),
    "plain, by a sysctl": (
        {"isolation": "plain", "root": False},
        {"user_namespaces": "kernel.apparmor_restrict_unprivileged_userns is 1"},
        "private worlds",
        "private folders alone: kernel.apparmor_restrict_unprivileged_userns is 1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    "plain, without a number of namespaces": (
        {"isolation": "plain", "root": False},
        {"user_namespaces": "user.max_user_namespaces is 0"},
        "private worlds",
        "user.max_user_namespaces is 0",
        "sudo sysctl -w user.max_user_namespaces=10000",
    ),
    "plain in a container": (
        {"isolation": "plain"},
        {"container": "/.dockerenv"},
        "private worlds",
        "the kernel or a container forbids overlays",
        "Ask the person who started this container",
    ),
    "overlay": ({"isolation": "overlay"}, {}, "private worlds", "packages are root of this machine", ""),
    "no guests": (
        {"guest": GuestOffer(None, "there is no image; `datamill worker guest-image` makes one", ())},
        {},
        "guests",
        "there is no image",
        "datamill worker guest-image",
    ),
    "counters forbidden": (
        {"counters": False, "root": False},
        {"perf_paranoid": 4},
        "counters",
        "kernel.perf_event_paranoid is 4",
        "sudo sysctl -w kernel.perf_event_paranoid=1",
    ),
    "counters hidden": ({"counters": False}, {"hypervisor": True}, "counters", "hypervisor", "virtual PMU"),
    "counters contained": ({"counters": False}, {"container": "/x"}, "counters", "container", "PERFMON"),
    "no perf events": ({"counters": False}, {"perf_paranoid": None}, "counters", "no perf events", ""),
    "no driver": ({"counters": False}, {}, "counters", "driver shows none", ""),
    "no compiler": ({"compilers": ()}, {}, "compilers", "neither gcc nor clang", "apt-get install gcc make"),
    "no compiler elsewhere": (
        {"compilers": (), "distribution": "fedora 41", "root": False},
        {},
        "compilers",
        "neither gcc nor clang",
        "sudo dnf install gcc make",
    ),
}


@pytest.mark.parametrize("played", WORKER_LACKS)
def test_what_a_worker_lacks_is_told_with_its_remedy(played: str) -> None:
    worker, machine, topic, words, remedy = WORKER_LACKS[played]
    found = find(topic, machine, worker)
    assert found.standing == "lacking"
    assert words in found.text
    assert remedy in found.remedy
    assert bool(remedy) == bool(found.remedy)


def test_without_root_worlds_are_private_all_the_same_and_root_makes_them_stronger() -> None:
    found = find("private worlds", worker={"isolation": "user_namespace", "root": False})
    assert found.standing == "offered"
    assert found.remedy.startswith("sudo ")


def test_one_compiler_is_enough_and_the_other_is_named() -> None:
    found = find("compilers", worker={"compilers": (CompilerVersion("gcc", "12.2.0"),)})
    assert (found.standing, found.text) == ("offered", "gcc 12.2.0; no clang")
    assert found.remedy == "apt-get install clang"


def test_factors_that_a_package_brings_are_counted_and_the_package_is_named() -> None:
    missing = MissingLevel("jemalloc", "libjemalloc.so is not installed here (on Debian: libjemalloc2)")
    offers = (
        FactorOffer("allocator", "process", ("glibc",), (missing,)),
        FactorOffer("governor", "host", (), reason="this host has no cpufreq"),
    )
    found = find("factors", worker={"factors": offers})
    assert found.text.startswith(f"1 of {len(FACTORS)} hidden factors")
    assert found.remedy == "apt-get install libjemalloc2"


def test_machines_without_battery_or_figures_of_heat_are_told_nothing_of_them() -> None:
    machine = replace(
        MACHINE, on_battery=None, throttled=None, turbo=None, smt=None, aslr=None, free_bytes=None
    )
    topics = {item.topic for item in examine(machine, WORKER)}
    assert topics.isdisjoint({"power", "heat", "turbo", "SMT", "address randomisation", "disk"})


def test_nothing_is_measured_without_a_worker_of_this_version_and_room() -> None:
    absent = examine(MACHINE, None, problem="datamill-worker is not here", remedy="Install it.")
    assert absent[0] == Finding(
        "worker", "impossible", "datamill-worker is not here", "its worker does not answer", "Install it."
    )
    assert summarize_findings(absent) == "This machine cannot measure yet: its worker does not answer."
    assert find("worker", worker={"trial_schema": SCHEMA_VERSION + 1}).standing == "impossible"
    assert find("disk", {"free_bytes": 1024}).standing == "impossible"
