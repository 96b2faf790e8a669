"""What the kernel tells of this machine beside what the worker asks it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Files and folders by which containers are known.
_CONTAINER_SIGNS = (".dockerenv", "run/.containerenv", "run/systemd/container")
_PROCESSORS = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class MachineState:
    """Settings and state of a machine; None and empty: it does not tell.

    Args:
        python: version of the interpreter.
        load: processes that ran or waited, on average over the last minute.
        processors: those that are online.
        steal_share: share of processor time since boot that a hypervisor took, of what was not idle.
        hypervisor: whether the processor says that it is a virtual one.
        container: sign of a container, such as `/.dockerenv`.
        driver: what sets the processors' clock.
        governors: rules by which it is set, each once.
        turbo: whether the clock may exceed its nominal rate.
        smt: whether processors share cores.
        aslr: `kernel.randomize_va_space`.
        perf_paranoid: `kernel.perf_event_paranoid`.
        on_battery: whether a battery is emptied; None: there is none.
        throttled: times that processors slowed down for heat since boot.
        control_groups: version of the control groups that this user may divide; 0: of none.
        user_namespaces: why the kernel gives this user no namespaces; empty: nothing speaks against it.
        free_bytes: room in the current folder.
    """

    python: str
    load: float | None = None
    processors: int = 1
    steal_share: float | None = None
    hypervisor: bool = False
    container: str = ""
    driver: str = ""
    governors: tuple[str, ...] = ()
    turbo: bool | None = None
    smt: bool | None = None
    aslr: int | None = None
    perf_paranoid: int | None = None
    on_battery: bool | None = None
    throttled: int | None = None
    control_groups: int = 0
    user_namespaces: str = ""
    free_bytes: int | None = None


def read_machine(root: Path = Path("/"), folder: Path = Path()) -> MachineState:
    """Return what this machine tells; experiments would leave their results in `folder`."""
    processors = root / _PROCESSORS
    load = _read(root / "proc/loadavg").split()
    signs = (sign for sign in _CONTAINER_SIGNS if (root / sign).exists())
    return MachineState(
        python=platform.python_version(),
        load=float(load[0]) if load else None,
        processors=os.cpu_count() or 1,
        steal_share=_read_steal(_read(root / "proc/stat")),
        hypervisor=" hypervisor" in _read(root / "proc/cpuinfo"),
        container=next((f"/{sign}" for sign in signs), ""),
        driver=_read(processors / "cpu0/cpufreq/scaling_driver"),
        governors=tuple(sorted(_read_all(processors.glob("cpu[0-9]*/cpufreq/scaling_governor")))),
        turbo=_read_turbo(processors),
        smt={"1": True, "0": False}.get(_read(processors / "smt/active")),
        aslr=_read_number(root / "proc/sys/kernel/randomize_va_space"),
        perf_paranoid=_read_number(root / "proc/sys/kernel/perf_event_paranoid"),
        on_battery=_read_battery(root / "sys/class/power_supply"),
        throttled=_read_throttled(processors),
        control_groups=_find_control_groups(root),
        user_namespaces=_find_objection(root / "proc/sys"),
        free_bytes=_find_room(folder),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _read_number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text.removeprefix("-").isdecimal() else None


def _read_all(paths: Iterable[Path]) -> set[str]:
    return {text for path in paths if (text := _read(path))}


def _read_turbo(processors: Path) -> bool | None:
    prohibited = _read_number(processors / "intel_pstate/no_turbo")
    if prohibited is not None:
        return not prohibited
    boost = _read_number(processors / "cpufreq/boost")
    return None if boost is None else bool(boost)


def _read_steal(stat: str) -> float | None:
    # cpu user nice system idle iowait irq softirq steal …
    words = stat.partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None
    ticks = [int(word) for word in words[1:9]]
    busy = sum(ticks) - ticks[3] - ticks[4]
    return ticks[7] / busy if busy else 0.0


def _read_battery(supplies: Path) -> bool | None:
    # Those of mice and keyboards have the scope Device.
    states = [
        _read(supply.parent / "status")
        for supply in supplies.glob("*/type")
        if _read(supply) == "Battery" and _read(supply.parent / "scope") != "Device"
    ]
    return "Discharging" in states if states else None


def _read_throttled(processors: Path) -> int | None:
    counts = [
        count
        for path in processors.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")
        if (count := _read_number(path)) is not None
    ]
    return max(counts) if counts else None


def _find_control_groups(root: Path) -> int:
    groups = root / "sys/fs/cgroup"
    if (groups / "cgroup.controllers").exists():
        own = _read(root / "proc/self/cgroup").rpartition("::")[2].lstrip("/")
        return 2 if os.access(groups / own / "cgroup.procs", os.W_OK) else 0
    return 1 if os.access(groups / "memory", os.W_OK) and os.access(groups / "pids", os.W_OK) else 0


def _find_objection(settings: Path) -> str:
    for name, forbids in (
        ("user/max_user_namespaces", 0),
        ("kernel/unprivileged_userns_clone", 0),
        ("kernel/apparmor_restrict_unprivileged_userns", 1),
    ):
        if _read_number(settings / name) == forbids:
            return f"{name.replace('/', '.')} is {forbids}"
    return ""


def _find_room(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
