"""What the kernel's files say of a machine, from files that are played."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamill.execution.diagnosis.machine_state import MachineState, read_machine

LAPTOP = {
    "proc/loadavg": "0.52 0.58 0.59 1/767 1234",
    "proc/stat": "cpu  100 0 50 800 50 0 0 50 0 0\ncpu0 1 2 3",
    "proc/cpuinfo": "flags : fpu vme hypervisor lahf_lm",
    "proc/self/cgroup": "0::/user",
    ".dockerenv": "",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "sys/devices/system/cpu/smt/active": "1",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "7",
    "sys/class/power_supply/BAT0/type": "Battery",
    "sys/class/power_supply/BAT0/status": "Discharging",
    "sys/class/power_supply/mouse/type": "Battery",
    "sys/class/power_supply/mouse/scope": "Device",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory pids",
    "sys/fs/cgroup/user/cgroup.procs": "1",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/sys/kernel/perf_event_paranoid": "-1",
    "proc/sys/user/max_user_namespaces": "0",
}


def play(root: Path, files: dict[str, str]) -> MachineState:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return read_machine(root, root)


def test_a_laptop_says_all_there_is(tmp_path: Path) -> None:
    facts = play(tmp_path, LAPTOP)
    assert facts.load == 0.52
    assert facts.steal_share == pytest.approx(0.25)
    assert facts.hypervisor
    assert facts.container == "/.dockerenv"
    assert (facts.driver, facts.governors) == ("intel_pstate", ("performance", "powersave"))
    assert facts.turbo is True
    assert facts.smt is True
    assert (facts.aslr, facts.perf_paranoid) == (2, -1)
    assert facts.on_battery is True
    assert facts.throttled == 7
    assert facts.control_groups == 2
    assert facts.user_namespaces == "user.max_user_namespaces is 0"
    assert facts.free_bytes


def test_a_desk_machine_of_another_maker_has_no_battery_and_a_boost(tmp_path: Path) -> None:
    facts = play(
        tmp_path,
        {
            "sys/devices/system/cpu/cpufreq/boost": "0",
            "sys/class/power_supply/mouse/type": "Battery",
            "sys/class/power_supply/mouse/scope": "Device",
            "sys/fs/cgroup/memory/x": "",
            "sys/fs/cgroup/pids/x": "",
        },
    )
    assert facts.turbo is False
    assert facts.on_battery is None
    assert facts.control_groups == 1


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    facts = play(tmp_path, {})
    assert facts.load is None
    assert facts.steal_share is None
    assert (facts.turbo, facts.smt, facts.aslr, facts.on_battery) == (None, None, None, None)
    assert not facts.hypervisor
    assert facts.governors == ()
    assert facts.control_groups == 0
