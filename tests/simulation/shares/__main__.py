"""`PYTHONPATH=tests python -m simulation.shares --seeds 0..1000`: shares received over shares promised."""

from __future__ import annotations

import argparse
import sys
import time

from simulation.__main__ import read_seeds
from simulation.shares.busy_fleet import Outcome
from simulation.shares.busy_seeds import run_seeds

#: Share of what was promised by which what was received may differ.
MOST_OFF = 0.05
#: Longest turns, for each machine where a user waited, by which what was received may differ in any case:
#: turns are not divided, and of a dozen turns at each machine, one is more than a twentieth.
MOST_TURNS_OFF = 1.0


def list_wrong(outcome: Outcome) -> list[str]:
    """Return what a seed shows that must not be."""
    off = [
        f"{user} received {1 + error:.3f} of what was promised"
        for user, error in sorted(outcome.errors.items())
        if abs(error) > MOST_OFF and outcome.turns_off[user] > MOST_TURNS_OFF
    ]
    return [f"seed {outcome.seed}: {sentence}" for sentence in (*off, *outcome.violations)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation.shares", description=__doc__)
    parser.add_argument("--seeds", type=read_seeds, default=range(20), metavar="FIRST..LAST")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    options = parser.parse_args()
    began_s, outcomes, wrong = time.monotonic(), [], []
    for number, outcome in enumerate(run_seeds(options.seeds, options.jobs), start=1):
        outcomes.append(outcome)
        wrong += list_wrong(outcome)
        if number % 50 == 0:
            print(f"{number} seeds so far, {len(wrong)} wrong", flush=True)
    errors = sorted(abs(error) for outcome in outcomes for error in outcome.errors.values())
    turns = sum(outcome.turns for outcome in outcomes)
    print(
        f"{len(outcomes)} seeds in {time.monotonic() - began_s:.0f} s, {turns:,} turns, {len(errors)} shares"
    )
    if errors:
        within = sum(error <= MOST_OFF for error in errors)
        print(
            f"  off by {errors[len(errors) // 2]:.2%} in the middle, {errors[int(0.99 * len(errors))]:.2%} "
            f"at the 99th percentile, {errors[-1]:.2%} at most; {within} within {MOST_OFF:.0%}"
            f", {len(errors) - within} beyond"
        )
        longest = max(outcome.longest_wait_turns for outcome in outcomes)
        print(f"  the longest time without a turn of a user who waits: {longest:.0f} turns of others")
    print(*wrong[:20], sep="\n")
    print(f"{len(wrong)} violations")
    return 1 if wrong or not errors else 0


if __name__ == "__main__":
    sys.exit(main())
