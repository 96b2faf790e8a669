"""What a machine's settings and state mean for measuring: clock, heat, load, disk, who else is on it."""

from __future__ import annotations

from collections.abc import Iterator

from datamill.execution.diagnosis.finding import Finding
from datamill.execution.diagnosis.machine_state import MachineState
from datamill.experiment.messages.numbers import format_fixed, format_share
from datamill.experiment.quantities import format_size

#: Running processes for each processor beyond which others disturb a trial.
MOST_LOAD = 0.1
#: Share of the processors' time that a hypervisor may take, as `datamill worker noise` has it.
MOST_STEAL = 0.001
#: Room that an experiment needs at least, and below which it soon ends.
LEAST_BYTES, FEW_BYTES = 64 * 1024**2, 2 * 1024**3
_NOISE = "datamill worker noise"


def examine_machine(machine: MachineState) -> Iterator[Finding]:
    """Yield what settings and state of this machine mean, in the order of their weight."""
    yield Finding("Python", "offered", machine.python)
    yield _examine_clock(machine)
    yield from _examine_turbo(machine)
    yield from _examine_smt(machine)
    yield from _examine_aslr(machine)
    yield _examine_load(machine)
    yield from _examine_power(machine)
    yield from _examine_heat(machine)
    yield _examine_neighbours(machine)
    yield _examine_groups(machine)
    yield from _examine_room(machine)


def _examine_clock(machine: MachineState) -> Finding:
    if not machine.governors:
        why = "the hypervisor sets it" if machine.hypervisor else "the kernel has no cpufreq driver"
        return Finding("clock", "lacking", f"the clock can be neither seen nor fixed: {why}", "a fixed clock")
    rule = f"governor {', '.join(machine.governors)}" + (f", by {machine.driver}" if machine.driver else "")
    if machine.governors == ("performance",):
        return Finding("clock", "offered", rule)
    return Finding(
        "clock",
        "lacking",
        f"{rule}: the clock follows the load; vary the factor governor, or fix it",
        "a steady clock",
        "sudo cpupower frequency-set -g performance",
    )


def _examine_turbo(machine: MachineState) -> Iterator[Finding]:
    if machine.turbo is None:
        return
    if not machine.turbo:
        yield Finding("turbo", "offered", "off: the clock stays at its nominal rate")
        return
    file = "/sys/devices/system/cpu/cpufreq/boost"
    remedy = f"echo 0 | sudo tee {file}"
    if machine.driver.startswith("intel"):
        remedy = "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    yield Finding("turbo", "lacking", "on: the clock depends on heat and on busy neighbours", "", remedy)


def _examine_smt(machine: MachineState) -> Iterator[Finding]:
    if machine.smt is None:
        return
    if not machine.smt:
        yield Finding("SMT", "offered", "off: no processor shares its core")
        return
    remedy = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    yield Finding("SMT", "lacking", "on: two processors share a core and slow each other down", "", remedy)


def _examine_aslr(machine: MachineState) -> Iterator[Finding]:
    if machine.aslr is None:
        return
    if machine.aslr == 2:
        yield Finding("address randomisation", "offered", "on, as is usual; the factor aslr varies it")
        return
    text = f"kernel.randomize_va_space is {machine.aslr}: results hold for one memory layout"
    remedy = "sudo sysctl -w kernel.randomize_va_space=2"
    yield Finding("address randomisation", "lacking", text, "address randomisation", remedy)


def _examine_load(machine: MachineState) -> Finding:
    if machine.load is None:
        return Finding("load", "lacking", "the kernel does not tell how busy this machine is", "", _NOISE)
    text = f"{format_fixed(machine.load, 2)} over the last minute, on {machine.processors} processors"
    if machine.load <= MOST_LOAD * machine.processors:
        return Finding("load", "offered", text)
    return Finding("load", "lacking", f"{text}: others run too; end them or wait", "quiet", _NOISE)


def _examine_power(machine: MachineState) -> Iterator[Finding]:
    if machine.on_battery is None:
        return
    if machine.on_battery:
        text = "on battery, which slows processors down"
        yield Finding("power", "lacking", text, "mains power", "Plug it in")
    else:
        yield Finding("power", "offered", "mains")


def _examine_heat(machine: MachineState) -> Iterator[Finding]:
    if machine.throttled is None:
        return
    if machine.throttled:
        text = f"a processor slowed down for heat {machine.throttled} times since boot"
        remedy = "Cool it, or fix a lower clock: sudo cpupower frequency-set -u 2GHz"
        yield Finding("heat", "lacking", text, "cooling", remedy)
    else:
        yield Finding("heat", "offered", "no processor slowed down for heat since boot")


def _examine_neighbours(machine: MachineState) -> Finding:
    places = ["a container"] if machine.container else []
    places += ["a virtual machine"] if machine.hypervisor else []
    if not places:
        return Finding("neighbours", "offered", "the machine itself: no container, no virtual machine")
    share = machine.steal_share
    text = f"in {' in '.join(places)}: others share its caches and its memory"
    if machine.hypervisor and share is not None and share > MOST_STEAL:
        text += f", and the hypervisor took {format_share(share)} of the time since boot"
    return Finding("neighbours", "lacking", text, "a machine to itself", _NOISE)


def _examine_groups(machine: MachineState) -> Finding:
    if machine.control_groups:
        return Finding("control groups", "offered", f"version {machine.control_groups}: limits hold exactly")
    text = "this user may divide none: limits of processes and memory are watched from outside"
    return Finding(
        "control groups",
        "lacking",
        text,
        "",
        "Log in through systemd, which gives users their own, or be root",
    )


def _examine_room(machine: MachineState) -> Iterator[Finding]:
    free = machine.free_bytes
    if free is None:
        return
    text = f"{format_size(free)} free in this folder"
    if free < LEAST_BYTES:
        yield Finding("disk", "impossible", text, "its disk is full", "df -h . && du -xhd1 . | sort -h")
    elif free < FEW_BYTES:
        yield Finding("disk", "lacking", text, "room on disk", "du -xhd1 . | sort -h")
    else:
        yield Finding("disk", "offered", text)
