"""The simulation itself as a test: seeds without violations, replays that are exact, bugs that are found.

Each runs in a process of its own: Django can be set up only once in one, and a replay is for another one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import choose_count

TESTS = Path(__file__).parents[1]
#: 200 in every change, 10 000 at night: docs/simulation.md.
SEEDS = int(os.environ.get("DATAMILL_SIMULATION_SEEDS", choose_count(200, 10_000)))
#: The seeds in which each planted bug is looked for: as few as find it.
PLANTED_IN = {
    "any_goodbye_is_heeded": "0..60",
    "anyone_may_report": "0..60",
    "deadlines_are_forgotten": "0..30",
    "drained_workers_are_leased": "125..140",
    "late_records_count": "0..60",
    "leases_go_to_two": "0..10",
    "losses_are_not_told": "0..30",
    "orders_are_not_sent_again": "0..60",
    "records_are_not_checked": "0..30",
    "records_are_written_anew": "0..10",
    "reports_are_acknowledged_unread": "0..10",
    "spool_is_dropped_before_its_receipt": "0..60",
}
FOUND = {
    "any_goodbye_is_heeded": "counts as gone",
    "anyone_may_report": "was ended by another worker",
    "deadlines_are_forgotten": "no end after",
    "drained_workers_are_leased": "drained",
    "late_records_count": "counted, and now",
    "leases_go_to_two": "was ordered of",
    "losses_are_not_told": "no event says that",
    "orders_are_not_sent_again": "the broker does not have",
    "records_are_not_checked": "is none that",
    "records_are_written_anew": "is none that",
    "reports_are_acknowledged_unread": "got a receipt for",
    "spool_is_dropped_before_its_receipt": "without a receipt",
}


def simulate(*options: str, hash_seed: str = "random") -> tuple[int, str]:
    """Run the simulation's command; return its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "simulation", *options],
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_no_seed_violates_an_invariant() -> None:
    status, text = simulate("--seeds", f"0..{SEEDS}", "--jobs", "2")
    assert status == 0, text[-20_000:]
    assert re.search(rf"^{SEEDS} seeds in", text, re.MULTILINE), text[-2000:]
    assert text.rstrip().endswith("0 violations")


@pytest.mark.parametrize("seed", ["3", "11"])
def test_a_replay_in_another_process_is_exact(seed: str) -> None:
    first = simulate("--replay", seed, "--trace", hash_seed="1")
    second = simulate("--replay", seed, "--trace", hash_seed="2")
    assert first[0] == 0, first[1][-5000:]
    assert len(first[1].splitlines()) > 100
    assert drop_times(first[1]) == drop_times(second[1])


def drop_times(text: str) -> str:
    """Return the output without what depends on how fast this machine is."""
    return re.sub(r"seeds in \d+ s", "", text)


@pytest.mark.parametrize("plant", sorted(PLANTED_IN))
def test_a_planted_bug_is_found(plant: str) -> None:
    status, text = simulate("--seeds", PLANTED_IN[plant], "--plant", plant, "--until-found")
    assert status == 1, text[-5000:]
    violations = [line for line in text.splitlines() if line.startswith("  violation:")]
    assert any(FOUND[plant] in line for line in violations), violations
    replay = re.search(r"--replay (\d+) --trace --plant", text)
    assert replay is not None, text[-2000:]


def test_the_command_of_a_failing_seed_repeats_its_trace() -> None:
    plant = "records_are_written_anew"
    _, text = simulate("--seeds", PLANTED_IN[plant], "--plant", plant, "--until-found")
    failed = re.search(r"^seed (\d+) failed at step (\d+) \((\w+)\)", text, re.MULTILINE)
    assert failed is not None, text[-2000:]
    seed, step, digest = failed.groups()
    status, again = simulate("--replay", seed, "--plant", plant)
    assert status == 1
    assert f"seed {seed} failed at step {step} ({digest})" in again
