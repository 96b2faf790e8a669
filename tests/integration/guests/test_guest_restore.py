"""Whatever ends a trial, a power cut included, its machine is afterwards as it was before."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping

import pytest
from running.nightly import choose_count

from datamill.guests import Guest, GuestError, make_spec, write_spec
from datamill.protocol.trial import Needs

SWAP_BYTES = 8 << 20
#: The guest's kernel starts with the other level of each; the test checks that.
LEVELS = {"swap": str(SWAP_BYTES), "autogroup": "on", "transparent_huge_pages": "never"}
NATURAL = {"autogroup": "0", "thp": "always", "swaps": 0, "swap_files": 0}
SET = {"autogroup": "1", "thp": "never", "swaps": 1, "swap_files": 1}

#: In each of the two ways of losing power; each takes a boot.
POWER_CUTS = choose_count(2, 10)

#: Files that change without anybody writing to them, and those that act when they are read.
RESTLESS = re.compile(
    r"/proc/sys/kernel/(random/|ns_last_pid|pty/nr|perf_cpu_time_max_percent)"
    r"|/proc/sys/vm/stat_refresh"
    r"|/sys/kernel/mm/(ksm/(pages_|stable_node|full_scans|zero_pages|general_profit)"
    r"|transparent_hugepage/khugepaged/(pages_collapsed|full_scans)|lru_gen/)"
)

#: Packages say on the guest's console that they run.
CONSOLE = Needs(devices=("/dev/console",))
WAIT = "#!/bin/sh\necho the trial is running >/dev/console\nsleep 600\n"
SHORT = "#!/bin/sh\nsleep 0.2\n"
WAIT_WITH_ALL_ON_DISK = WAIT.replace("echo", "sync\necho", 1)
COLLECT = "#!/bin/sh\ntar -cf out.tar run.sh && echo out.tar\n"


def prepare_trial(guest: Guest, run: str = WAIT, levels: Mapping[str, str] = LEVELS) -> str:
    """Put a package and a trial of it into the guest and return the path of the specification."""
    guest.write("/var/packages/waiting/run.sh", run, 0o755)
    guest.write("/var/packages/waiting/collect.sh", COLLECT, 0o755)
    return write_spec(guest, make_spec("t1", "waiting", levels, needs=CONSOLE))


def start_trial(guest: Guest, spec: str) -> None:
    """Start the trial in the background; the worker's number is then in /tmp/worker."""
    guest.check(f"datamill-worker run-trial {spec} >/tmp/said 2>&1 & echo $! >/tmp/worker")


def wait_for_trial(guest: Guest) -> None:
    """Wait until the package's run.sh runs, with everything set; the levels are then seen from outside."""
    try:
        guest.wait_for_console("the trial is running", timeout_s=120)
    except GuestError as error:
        said = guest.check("cat /tmp/said; ps -o pid,ppid,stat,args")
        raise AssertionError(f"{error}\nThe worker said: {said}") from error
    assert read_settings(guest) == SET, guest.check("cat /tmp/said")


def read_settings(guest: Guest) -> dict[str, object]:
    """Return what the trial changes, read from the kernel and the disk."""
    autogroup, thp, *others = guest.check(
        "cat /proc/sys/kernel/sched_autogroup_enabled /sys/kernel/mm/transparent_hugepage/enabled\n"
        "tail -n +2 /proc/swaps | wc -l\n"
        f"find /var -type f -size +{SWAP_BYTES // 2 // 1024}k | wc -l"
    ).splitlines()
    chosen = re.search(r"\[(\w+)\]", thp)
    assert chosen
    return {"autogroup": autogroup, "thp": chosen[1], "swaps": int(others[0]), "swap_files": int(others[1])}


def choose_host_levels(guest: Guest) -> dict[str, str]:
    """Return, for every factor of the host that the guest offers, a level that it is not at."""
    chosen = dict(LEVELS)
    for offer in json.loads(guest.check("datamill-worker factors")):
        others = [level for level in offer["levels"] if level not in (offer["current"], "default", "all")]
        if offer["stage"] == "host" and others:
            chosen.setdefault(offer["name"], others[-1])
    return chosen


def read_kernel_files(guest: Guest) -> dict[str, str]:
    """Return every setting of the kernel by its file."""
    said = guest.check(
        "cd /\n"
        "(find /proc/sys/vm /proc/sys/kernel /sys/kernel/mm -type f\n"
        " find /proc/irq -name '*smp_affinity*'\n"
        " find /sys/devices/system/clocksource -name current_clocksource) | sort >/tmp/settings\n"
        'while read -r file; do echo "== $file"; cat "$file" 2>&1; done </tmp/settings\n'
        'for file in /proc/swaps /proc/mounts; do echo "== $file"; cat $file; done',
        timeout_s=120,
    )
    files = dict(part.split("\n", 1) for part in said.split("== ")[1:])
    return {file: content for file, content in files.items() if not RESTLESS.match(file)}


def assert_restored(guest: Guest) -> None:
    """Restore, and check that nothing is left on the disk, and that a second time finds nothing to do."""
    guest.check("datamill-worker restore")
    assert read_settings(guest) == NATURAL
    assert guest.run("test -s /var/lib/datamill/journal").status != 0
    again = guest.check("datamill-worker restore")
    assert "nothing" in again.lower(), again
    assert read_settings(guest) == NATURAL


def test_a_power_cut_in_mid_trial_leaves_nothing_after_restore(start_guest) -> None:
    guest = start_guest()
    assert read_settings(guest) == NATURAL
    start_trial(guest, prepare_trial(guest, WAIT_WITH_ALL_ON_DISK))
    wait_for_trial(guest)
    guest.cut_power()
    guest.boot()
    # The kernel's settings went with the power; the file is what is left to undo.
    assert read_settings(guest) == NATURAL | {"swap_files": 1}
    assert_restored(guest)


@pytest.mark.parametrize("lose_unflushed", [True, False])
def test_a_power_cut_at_any_moment_leaves_nothing_after_restore(start_guest, lose_unflushed: bool) -> None:
    guest = start_guest()
    spec = prepare_trial(guest, SHORT)
    start = time.monotonic()
    guest.check(f"datamill-worker run-trial {spec}")
    trial_s = time.monotonic() - start
    assert read_settings(guest) == NATURAL
    generator = random.Random(20131)
    found = []
    for part in range(POWER_CUTS):
        start_trial(guest, spec)
        # One cut in each part of the trial: from before its journal is open until all is undone.
        time.sleep(trial_s * (part + generator.random()) / POWER_CUTS)
        guest.cut_power(lose_unflushed=lose_unflushed)
        guest.boot()
        found.append(read_settings(guest)["swap_files"])
        assert_restored(guest)
    print("swap files found after each power cut:", found)


def test_a_worker_killed_in_mid_trial_leaves_a_kernel_that_restore_makes_as_before(start_guest) -> None:
    # With two processors interrupts can go elsewhere.
    guest = start_guest(processors=2)
    levels = choose_host_levels(guest)
    assert {"autogroup", "swap", "transparent_huge_pages", "ksm", "irq_affinity"} <= levels.keys()
    spec = prepare_trial(guest, levels=levels)
    before = read_kernel_files(guest)
    assert len(before) > 100
    start_trial(guest, spec)
    wait_for_trial(guest)
    during = read_kernel_files(guest)
    different = {file for file in before if before[file] != during[file]}
    assert any(file.startswith("/proc/irq/") for file in different), different
    assert different >= {
        "/proc/swaps",
        "/proc/sys/kernel/sched_autogroup_enabled",
        "/sys/kernel/mm/ksm/run",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    }
    guest.check("kill -9 $(cat /tmp/worker); sleep 0.5")
    assert read_settings(guest) == SET
    assert_restored(guest)
    after = read_kernel_files(guest)
    changed = {file for file in before | after if before.get(file) != after.get(file)}
    assert {file: (before.get(file), after.get(file)) for file in changed} == {}


def test_the_next_trial_restores_what_a_power_cut_left(start_guest) -> None:
    guest = start_guest()
    start_trial(guest, prepare_trial(guest, WAIT_WITH_ALL_ON_DISK))
    wait_for_trial(guest)
    guest.cut_power()
    guest.boot()
    assert read_settings(guest)["swap_files"] == 1
    guest.write("/var/packages/waiting/run.sh", "#!/bin/sh\ntrue\n", 0o755)
    spec = write_spec(guest, make_spec("t2", "waiting", {"aslr": "off"}, needs=CONSOLE))
    record = json.loads(guest.run(f"datamill-worker run-trial {spec}").output)
    assert record["run"]["exit_code"] == 0
    assert read_settings(guest)["swap_files"] == 0
