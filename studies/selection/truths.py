"""What counts as a change, by times and by counted instructions of the same programs.

    python studies/selection/truths.py [STORE …]

Each version against its closest older one, in all stores that have both. Where a program executes exactly as
many instructions as the one before, a change of its time is noise, or comes from where its code and data lie.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding.train_model import read_collection
from datamill.selection.history.collection import Collection, list_closest_pairs
from datamill.selection.history.records import Observation, WorkCount
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import judge_times

HERE = Path(__file__).parent
#: Rules for times: the test of 2019 for changes of any size and from 1% on, and the default.
RULES = {
    "Mann-Whitney": TruthSetting(rule="mann-whitney"),
    "Mann-Whitney, from 1% on": TruthSetting(rule="mann-whitney", threshold=0.01),
    "relevant": TruthSetting(rule="relevant"),
}
#: How far counts are apart, as a share of the older: the least of each class, and its name.
CLASSES = (
    (0.05, "5% and more"),
    (0.01, "1 to 5%"),
    (0.001, "0.1 to 1%"),
    (1e-12, "below 0.1%"),
    (0.0, "equal"),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """How many cases a class has, in how many a rule sees a change, and in how many of these counts agree."""

    cases: int
    changed: Counter[str]
    agreed: Counter[str]


def judge_history(collection: Collection) -> dict[str, Judged]:
    """Return what each rule says of times, by class; `itself` compares halves of a program's executions."""
    # Of the same times as those that the history is evaluated by.
    response = collection.settings.truth.response
    rules = {name: msgspec.structs.replace(rule, response=response) for name, rule in RULES.items()}
    counts = {(item.program, item.benchmark): item for item in collection.counts}
    times: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for item in collection.observations:
        if not item.failure:
            times[item.program, item.benchmark].append(item)
    pairs = {
        (old.program, new.program, benchmark)
        for old, new in list_closest_pairs(collection)
        if old.program != new.program
        for benchmark in collection.benchmarks
    }
    found = {name: Judged(0, Counter(), Counter()) for name in ("itself", *(name for _, name in CLASSES))}
    for executions in times.values():
        in_order = sorted(executions, key=lambda item: item.place)
        _judge(found, rules, "itself", in_order[::2], in_order[1::2], 0.0)
    for old, new, benchmark in sorted(pairs):
        apart = _find_distance(counts.get((old, benchmark)), counts.get((new, benchmark)))
        if apart is not None:
            name = next(name for least, name in CLASSES if abs(apart) >= least)
            _judge(found, rules, name, times[old, benchmark], times[new, benchmark], apart)
    return found


def _find_distance(old: WorkCount | None, new: WorkCount | None) -> float | None:
    if old is None or new is None or not old.instructions or new.instructions is None:
        return None
    return new.instructions / old.instructions - 1


def _judge(
    found: dict[str, Judged],
    rules: dict[str, TruthSetting],
    name: str,
    old: list[Observation],
    new: list[Observation],
    apart: float,
) -> None:
    told = {rule: judge_times(old, new, setting) for rule, setting in rules.items()}
    if any(item.changed is None for item in told.values()):
        return
    before = found[name]
    changed = [rule for rule, item in told.items() if item.changed]
    agreed = [rule for rule in changed if ((told[rule].ratio or 1.0) - 1) * apart > 0]
    found[name] = Judged(before.cases + 1, before.changed + Counter(changed), before.agreed + Counter(agreed))


def main() -> None:
    """Print a table for each store."""
    stores = [Path(name) for name in sys.argv[1:]] or [
        file.parent for file in sorted(HERE.glob("*/observations.parquet"))
    ]
    for store in stores:
        collection = read_collection(open_project(store, None, store))
        print(f"\n{collection.settings.name}: {len(collection.observations)} executions\n")
        print("| instructions | cases | " + " | ".join(RULES) + " |\n|---|---:|" + "---:|" * len(RULES))
        for name, judged in judge_history(collection).items():
            cells = []
            for rule in RULES:
                share = 100 * judged.changed[rule] / judged.cases if judged.cases else 0.0
                signs = f" ({judged.agreed[rule]})" if name not in ("itself", "equal") else ""
                cells.append(f"{judged.changed[rule]}{signs}, {share:.0f}%")
            print(f"| {name} | {judged.cases} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
