"""How often intervals of sizes hold, by how much is known of a project, and how right probabilities are.

    python studies/selection/sizes.py [STORE …]

Each version against its closest older one, by counted instructions; each project with what all others taught.
*Ends* are upper ends of intervals, as told of the first and of the last version with a change.
*Begun anywhere*: a history that begins with each of its versions in turn, so that there are many short ones;
these share their changes, so that no interval is given. *Never seen*: probabilities without a case of the
project itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding.other_projects import read_other_sizes, read_others
from datamill.conduct.selection.deciding.train_model import choose_truth, read_collection
from datamill.selection.evaluation.predictions import PredictedCase
from datamill.selection.evaluation.probability_classes import measure_calibration
from datamill.selection.evaluation.rates import Rate, bound_rate
from datamill.selection.history.collection import Collection, build_cases, list_closest_pairs
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import find_threshold
from datamill.selection.prediction.checked_sizes import check_sizes
from datamill.selection.prediction.magnitude import VersionSizes, learn_magnitude
from datamill.selection.predictors.case import Case, keep_labelled
from datamill.selection.predictors.models.guarded import Guarded

HERE = Path(__file__).parent


def spell(rate: Rate) -> str:
    """Return a share with its counts and its interval."""
    if rate.interval is None:
        return "-"
    low, high = 100 * rate.interval.low, 100 * rate.interval.high
    return f"{rate.count} of {rate.n}, {100 * rate.interval.estimate:.1f}% ({low:.0f}% to {high:.1f}%)"


def print_sizes(cases: Sequence[Case], least: float, others: Sequence[VersionSizes]) -> None:
    """Print coverage of sizes walking forward, with and without other projects, and begun anywhere."""
    for name, taught in (("with others", others), ("alone", ())):
        found = check_sizes(cases, least, taught)
        for item in (found.every, *found.by_history):
            most = "more" if item.most is None else item.most
            print(
                f"| {name} | {item.least} to {most} | {spell(item.told)} | {spell(item.within)} "
                f"| {spell(item.versions)} |"
            )
    print(f"directions by the sign: {spell(found.by_sign)}, of versions {spell(found.by_sign_versions)}")
    counts: dict[int, list[int]] = {}
    for first in sorted({case.new_order for case in cases if case.changed}):
        begun = check_sizes([case for case in cases if case.new_order >= first], least, others)
        for item in begun.by_history[:3]:
            kept = counts.setdefault(item.least, [0, 0, 0, 0])
            for place, rate in ((0, item.within), (2, item.versions)):
                kept[place] += rate.count
                kept[place + 1] += rate.n
    for known, (within, changes, whole, versions) in counts.items():
        print(
            f"| begun anywhere | from {known} | {100 * within / changes:.1f}% of changes "
            f"| {100 * whole / versions:.1f}% of {versions} versions |"
        )


def print_ends(cases: Sequence[Case], least: float, others: Sequence[VersionSizes]) -> None:
    """Print the first and the last upper end that was told, and how many of all cases lay below theirs."""
    ends: dict[int, float] = {}
    for order in sorted({case.new_order for case in cases}):
        found = learn_magnitude([case for case in cases if case.new_order < order], least, others)
        if found is not None:
            ends[order] = found.high
    changed = {case.new_order for case in cases if case.changed}
    told = [ends[order] for order in sorted(changed & ends.keys())]
    if told:
        print(f"ends: first {100 * told[0]:.1f}%, last {100 * told[-1]:.1f}%")
    apart = [(abs(case.ratio - 1), ends.get(case.new_order)) for case in cases if case.ratio is not None]
    below = [size <= end for size, end in apart if end is not None]
    print(f"all cases below the end: {spell(bound_rate(sum(below), len(below)))}")


def print_times(collection: Collection, setting: TruthSetting) -> None:
    """Print coverage of sizes where a change is one of times, of which other projects teach nothing."""
    if not collection.observations:
        return
    pairs = list_closest_pairs(collection)
    for rule in ("relevant", "mann-whitney"):
        truth = choose_truth(setting, rule)
        cases = keep_labelled(build_cases(collection, pairs, truth).cases)
        found = check_sizes(cases, find_threshold(truth))
        print(
            f"by times ({rule}): {spell(found.every.versions)} versions, {found.told.count} directions told"
        )


def print_probabilities(cases: Sequence[Case], project: str) -> None:
    """Print how frequent changes of each predicted probability are, as others alone would predict them."""
    model = Guarded(read_others(project), 0.05)
    told = [PredictedCase(case, model.score(case), model.decides(case), 0) for case in cases]
    for item in measure_calibration(told):
        mean = "-" if item.mean is None else f"{100 * item.mean:.1f}%"
        print(f"| {100 * item.low:.0f}% to {100 * item.high:.0f}% | {mean} | {spell(item.observed)} |")


def main() -> None:
    """Print the tables of each store."""
    stores = [Path(name) for name in sys.argv[1:]] or [
        file.parent for file in sorted(HERE.glob("*/selection.toml"))
    ]
    for store in stores:
        project = open_project(store, None, store)
        name = project.settings.name
        collection = read_collection(project)
        truth = choose_truth(project.settings.truth, "instructions")
        cases = keep_labelled(build_cases(collection, list_closest_pairs(collection), truth).cases)
        print(f"\n{name}: {len(cases)} cases, {sum(bool(case.changed) for case in cases)} changes\n")
        least, others = find_threshold(truth), read_other_sizes(name, truth)
        print_sizes(cases, least, others)
        print_ends(cases, least, others)
        print_times(collection, project.settings.truth)
        print_probabilities(cases, name)


if __name__ == "__main__":
    main()
