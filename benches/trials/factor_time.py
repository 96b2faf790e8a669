"""What setting, reading back and restoring all factors of this host costs a trial.

Trials of a program that does nothing, from the start of `datamill-worker run-trial` to its end, in random
order: without any factor; with every process, world and host factor that this host has at a level other than
the one it is at; and with those besides that wait for a disk (dropping caches, a file system of its own).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from our_trials import WORKER, OurTrials, write_collect_script

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table, spread

TARGET_S = 0.050
#: These wait for the disk, or execute the program again.
WAITING = {"drop_caches", "root_filesystem", "swap", "cache_preload"}
#: Without a package beside the trial, or a fleet, they have nothing to set.
WITHOUT_EFFECT = {"background_load", "session", "reboot", "warmups"}
#: Natural defaults: any other level is a change.
DEFAULTS = {
    "aslr": "on",
    "env_padding": "0",
    "scheduler_policy": "other",
    "niceness": "0",
    "cpu_set": "all",
    "numa_policy": "default",
    "stack_limit": "default",
    "heap_limit": "default",
    "user_name_length": "4",
    "locale": "C.UTF-8",
    "allocator": "glibc",
    "libc_tunables": "none",
    "working_directory_length": "1",
    "root_filesystem": "memory",
    "drop_caches": "none",
    "cache_preload": "off",
    "cpu_frequency": "default",
    "swap": "default",
    "c_states": "all",
    "irq_affinity": "default",
    "perf_sampling_rate": "default",
}


def main() -> None:
    """Measure in rounds and print what the factors add."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    levels = choose_levels()
    quick = {name: level for name, level in levels.items() if name not in WAITING}
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as made:
        folder = Path(made)
        os.environ["DATAMILL_STATE_DIR"] = str(folder / "state")
        package = folder / "package"
        package.mkdir()
        shutil.copyfile("/bin/true", package / "run.sh")
        write_collect_script(package)
        sets = {"no factor": {}, f"{len(quick)} factors": quick}
        sets |= {
            f"{len(quick) + 1} factors: these and `{name}`": quick | {name: levels[name]}
            for name in sorted(WAITING & levels.keys())
        }
        trials = {name: OurTrials(folder, levels=chosen, isolation="auto") for name, chosen in sets.items()}
        wrong = check_levels(trials[f"{len(quick)} factors"])
        observed: dict[str, list[float]] = {name: [] for name in sets}
        order = random.Random(1)
        for _ in range(rounds):
            for name in order.sample(list(sets), len(sets)):
                started = time.monotonic()
                trials[name].run_trial()
                observed[name].append(time.monotonic() - started)
    print(f"{describe_machine()}\n")
    print(f"A trial of `/bin/true` from beginning to end, {rounds} with each set of factors, interleaved.\n")
    base = spread(observed["no factor"])[0]
    rows = []
    for name, values in observed.items():
        median, iqr, _ = spread(values)
        rows.append(
            [name, f"{1e3 * median:.1f} ms", f"{1e3 * iqr:.1f} ms", f"{1e3 * (median - base):.1f} ms"]
        )
    print(format_table(["", "median", "IQR", "more than without"], rows))
    print("\nLevels: " + ", ".join(f"{name} = {level}" for name, level in quick.items()) + ".")
    for line in wrong:
        print(f"\nNot as asked: {line}")
    added = spread(observed[f"{len(quick)} factors"])[0] - base
    print(f"\nTarget: under {1e3 * TARGET_S:.0f} ms: {'met' if added < TARGET_S else 'missed'}.")


def choose_levels() -> dict[str, str]:
    """For each factor of this host a level that it is not at."""
    told = subprocess.run([WORKER, "factors"], stdout=subprocess.PIPE, check=True).stdout
    levels = {}
    for offer in json.loads(told):
        if offer["stage"] == "build" or offer["name"] in WITHOUT_EFFECT:
            continue
        usual = offer["current"] or DEFAULTS.get(offer["name"])
        other = [level for level in offer["levels"] if level not in (usual, DEFAULTS.get(offer["name"]))]
        if other:
            levels[offer["name"]] = other[0]
    # A real-time policy would take the processor from the worker's own work, which is what is timed.
    if "scheduler_policy" in levels:
        levels["scheduler_policy"] = "batch"
    return levels


def check_levels(trials: OurTrials) -> list[str]:
    """Factors that one trial did not read back as asked, one sentence each."""
    return [
        f"{factor['name']}: asked {factor['asked']}, saw {factor['observed']}: {factor['evidence']}"
        for factor in trials.run_trial()["factors"]
        if factor["observed"] != factor["asked"]
    ]


if __name__ == "__main__":
    main()
