"""`PYTHONPATH=tests python -m simulation --seeds 0..1000`; see docs/why/simulation.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from simulation.bugs.planting import list_plants
from simulation.seeds import prepare, run_seeds
from simulation.summary import MOST_TOLD, Summary, list_failure

#: Seeds after which a long simulation tells how far it is.
TOLD_EVERY = 500


def read_seeds(text: str) -> range:
    """Return the seeds that `FIRST..LAST` means, or `COUNT` ones from 0; the last one is left out."""
    first, dots, last = text.partition("..")
    try:
        return range(int(first), int(last)) if dots else range(int(first))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no range of seeds such as 0..200") from None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=read_seeds, default=range(200), metavar="FIRST..LAST")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one seed")
    parser.add_argument("--trace", action="store_true", help="with --replay: print every step")
    parser.add_argument("--plant", choices=list_plants(), default="", help="a bug that must be found")
    parser.add_argument("--until-found", action="store_true", help="end with the first violation")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        result = prepare(options.plant, trace=options.trace)(options.replay, print if options.trace else None)
        results, jobs = iter([result]), 1
    else:
        results, jobs = run_seeds(options.seeds, options.jobs, options.plant), options.jobs
    summary, began_s = Summary(), time.monotonic()
    for number, result in enumerate(results, start=1):
        summary.add(result)
        if number % TOLD_EVERY == 0:
            seconds = time.monotonic() - began_s
            print(f"{number} seeds so far, {seconds:.0f} s, {len(summary.failed)} failed", flush=True)
        if result.violations and len(summary.failed) <= MOST_TOLD:
            print(*list_failure(result, options.plant), sep="\n", flush=True)
            if options.until_found:
                break
    print(*summary.list_lines(time.monotonic() - began_s, jobs), sep="\n")
    if options.replay is not None:
        print(f"  trace of seed {options.replay}: {result.digest}")
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
