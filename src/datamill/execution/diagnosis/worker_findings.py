"""What the worker's inventory means for measuring: worlds, counters, compilers, factors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from datamill.execution.diagnosis.finding import Finding
from datamill.execution.diagnosis.machine_state import MachineState
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.messages.arguments import command
from datamill.protocol.fleet import Inventory
from datamill.protocol.trial import SCHEMA_VERSION

#: Names of private worlds as documentation has them.
_WORLDS = {
    "guest": "guests",
    "confined": "confined private worlds",
    "user_namespace": "private worlds without root",
    "overlay": "overlays",
    "plain": "private folders",
}
#: Brings worker and command line of one version.
UPDATE = "pip install -U datamill"
#: sudo's own PATH seldom has the environment that datamill is in.
_AS_ROOT = 'sudo "$(command -v datamill)" run EXPERIMENT'
_PACKAGE = re.compile(r"on Debian: ([a-z0-9][a-z0-9+.-]*)")
#: The lowest `kernel.perf_event_paranoid` at which who is not root counts nothing.
_PARANOID = 3


def examine_worker(worker: Inventory, machine: MachineState, path: str) -> Iterator[Finding]:
    """Yield what the worker at `path` says of this machine."""
    if worker.trial_schema != SCHEMA_VERSION:
        versions = f"version {worker.trial_schema} of the trial contract, this datamill {SCHEMA_VERSION}"
        phrase = "its worker and its datamill differ in version"
        yield Finding("worker", "impossible", f"{path} speaks {versions}", phrase, UPDATE)
    else:
        yield Finding("worker", "offered", f"{path}, version {worker.worker_version}")
    yield _examine_user(worker)
    yield _examine_worlds(worker, machine)
    yield _examine_guests(worker)
    yield _examine_counters(worker, machine)
    yield _examine_compilers(worker)
    yield _examine_factors(worker)


def _examine_user(worker: Inventory) -> Finding:
    if worker.root:
        return Finding("user", "offered", "root: factors of the machine can be set")
    return Finding(
        "user",
        "lacking",
        "not root: factors of the machine, such as its clock, cannot be set",
        "root",
        _AS_ROOT,
    )


def _examine_worlds(worker: Inventory, machine: MachineState) -> Finding:
    kind, words = worker.isolation, _WORLDS[worker.isolation]
    phrase = f"run trials in {words}"
    if kind == "plain":
        why = machine.user_namespaces or (
            "the kernel or a container forbids overlays" if worker.root else "no user namespace could be made"
        )
        setting, _, value = machine.user_namespaces.partition(" is ")
        remedy = "Ask the person who started this container to allow it" if machine.container else ""
        if setting:
            allowed = {"user.max_user_namespaces": 10000}.get(setting, 1 - int(value))
            remedy = f"sudo sysctl -w {setting}={allowed}"
        return Finding(
            "private worlds",
            "lacking",
            f"{words} alone: {why}, so trials see and may change what their user may",
            "private worlds",
            remedy,
        )
    if kind == "user_namespace":
        text = f"{words}, in user namespaces; confined ones, which also hold in packages of root, need root"
        return Finding("private worlds", "offered", text, phrase, _AS_ROOT)
    if kind == "overlay":
        text = f"{words}: packages are root of this machine, since their rights cannot be taken here"
        return Finding("private worlds", "lacking", text, "confined private worlds")
    return Finding("private worlds", "offered", words, phrase)


def _examine_guests(worker: Inventory) -> Finding:
    if not worker.guest.reason:
        return Finding("guests", "offered", f"emulated machines, by {worker.guest.accelerator or 'software'}")
    # The reason names its own remedy where there is one.
    text, _, remedy = worker.guest.reason.partition("; `")
    command, _, _ = remedy.partition("`")
    return Finding("guests", "lacking", f'no isolation = "guest": {text}', "", command)


def _examine_counters(worker: Inventory, machine: MachineState) -> Finding:
    if worker.counters:
        return Finding("counters", "offered", "hardware counters", "read hardware counters")
    paranoid = machine.perf_paranoid
    if paranoid is None:
        why, remedy = "this kernel has no perf events", ""
    elif not worker.root and paranoid >= _PARANOID:
        why, remedy = (
            f"kernel.perf_event_paranoid is {paranoid}",
            "sudo sysctl -w kernel.perf_event_paranoid=1",
        )
    elif machine.hypervisor:
        why, remedy = "the hypervisor shows none", "Have its owner give this machine a virtual PMU"
    elif machine.container:
        why, remedy = "the container forbids them", "Start the container with the capability PERFMON"
    else:
        why, remedy = "the processor's driver shows none", ""
    text = f"no hardware counters: {why}; times are measured without"
    return Finding("counters", "lacking", text, "hardware counters", remedy)


def _examine_compilers(worker: Inventory) -> Finding:
    have = {item.name: item.version for item in worker.compilers}
    listed = ", ".join(f"{name} {have[name]}" for name in ("gcc", "clang") if name in have)
    if "gcc" not in have and "clang" not in have:
        text = "neither gcc nor clang: packages of sources cannot be built, nor factors of the build set"
        return Finding("compilers", "lacking", text, "a C compiler", _install(worker, "gcc", "make"))
    if "clang" not in have:
        return Finding("compilers", "offered", f"{listed}; no clang", "", _install(worker, "clang"))
    if "gcc" not in have:
        return Finding("compilers", "offered", f"{listed}; no gcc", "", _install(worker, "gcc"))
    return Finding("compilers", "offered", listed)


def _install(worker: Inventory, *packages: str) -> str:
    distribution = worker.distribution.partition(" ")[0]
    by = {
        "alpine": "apk add",
        "arch": "pacman -S",
        "fedora": "dnf install",
        "debian": "apt-get install",
        "ubuntu": "apt-get install",
    }.get(distribution)
    start = "" if worker.root else "sudo "
    return f"{start}{by} {' '.join(packages)}" if by else f"Install {' and '.join(packages)}"


def _examine_factors(worker: Inventory) -> Finding:
    known = [offer for offer in worker.factors if offer.name in FACTORS]
    here = sum(1 for offer in known if offer.levels)
    reasons = [part for offer in known for part in (offer.reason, *(item.reason for item in offer.missing))]
    packages = sorted({match[1] for reason in reasons if (match := _PACKAGE.search(reason))})
    text = f"{here} of {len(FACTORS)} hidden factors; {command('factors', all=True)} says why not the others"
    remedy = _install(worker, *packages) if packages and worker.distribution.startswith("debian") else ""
    return Finding("factors", "offered", text, f"vary {here} of {len(FACTORS)} hidden factors", remedy)
