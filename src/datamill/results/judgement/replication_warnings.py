"""Whether builds and measurements were repeated as the experiment means them to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from datamill.design.design import Design, PlannedTrial
from datamill.experiment.experiment import Experiment
from datamill.protocol.trial import TrialRecord
from datamill.results.trials.responses import list_wanted_responses


def list_replication_warnings(
    experiment: Experiment, design: Design, records: Sequence[TrialRecord]
) -> tuple[str, ...]:
    """Return what nested replication promised and did not get, one sentence each.

    Args:
        experiment: the question; without `[replication]` nothing was promised.
        design: its plan.
        records: the attempts that count.
    """
    if experiment.replication is None:
        return ()
    planned = {trial.trial_id: trial for trial in design.trials}
    done = [
        (planned[record.trial_id], record)
        for record in records
        if record.outcome == "completed" and planned[record.trial_id].purpose == "question"
    ]
    by_package: dict[str, list[tuple[PlannedTrial, TrialRecord]]] = defaultdict(list)
    for trial, record in done:
        by_package[record.package].append((trial, record))
    used = {name for item in list_wanted_responses(experiment) for name in item.formula.names}
    warnings = []
    for package, pairs in by_package.items():
        warnings += _judge_measurements(package, pairs, used)
        warnings += _judge_builds(package, pairs, _name_remedy(experiment))
    return tuple(warnings)


def _judge_measurements(
    package: str, pairs: Sequence[tuple[PlannedTrial, TrialRecord]], used: set[str]
) -> list[str]:
    """Compare how many values each metric has with how many the experiment asked for."""
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for trial, record in pairs:
        if not trial.measurements:
            continue
        for name in sorted(used & record.metrics.keys()):
            counts[name].append((len(record.metrics[name]), trial.warmup + trial.measurements))
    warnings = []
    for name, seen in counts.items():
        wrong = [(reported, asked) for reported, asked in seen if reported != asked]
        if not wrong:
            continue
        reported, asked = wrong[0]
        if all(count == 1 for count, _ in wrong):
            repeated = _list_repeated(pairs)
            warnings.append(
                f"package {package} reported one value of {name} in {len(wrong)} of {len(seen)} executions, "
                f"where {asked} were asked for: "
                + (
                    f"what it repeats is {', '.join(repeated)}, and only responses of these have measurements"
                    if repeated
                    else "it does not take as many measurements as DATAMILL_MEASUREMENTS says"
                )
            )
        else:
            warnings.append(
                f"package {package} reported another number of values of {name} than asked for in "
                f"{len(wrong)} of {len(seen)} executions (first: {reported} instead of {asked}, warm-up "
                "included)"
            )
    return warnings


def _list_repeated(pairs: Sequence[tuple[PlannedTrial, TrialRecord]]) -> list[str]:
    """Return the metrics that have as many values as were asked for in every execution."""
    names = set.intersection(*(set(record.metrics) for _, record in pairs))
    return sorted(
        name
        for name in names
        if all(len(record.metrics[name]) == trial.warmup + trial.measurements > 1 for trial, record in pairs)
    )


def find_identical_builds(design: Design, records: Sequence[TrialRecord]) -> dict[str, str]:
    """Return packages whose builds are all one and the same, and how that is known, by package.

    Without `setup.sh` nothing is built; otherwise all builds gave the same executables.
    """
    planned = {trial.trial_id: trial for trial in design.trials}
    by_package: dict[str, list[tuple[PlannedTrial, TrialRecord]]] = defaultdict(list)
    for record in records:
        trial = planned[record.trial_id]
        if record.outcome == "completed" and trial.purpose == "question":
            by_package[record.package].append((trial, record))
    found = {}
    for package, pairs in by_package.items():
        if identical := _find_identical(package, pairs):
            found[package] = identical[0]
    return found


def _find_identical(
    package: str, pairs: Sequence[tuple[PlannedTrial, TrialRecord]]
) -> tuple[str, bool] | None:
    """How builds of a package are known to be one and the same, and whether there is anything to build."""
    digests: Mapping[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    made: Mapping[int, dict[int, bool]] = defaultdict(dict)
    for trial, record in pairs:
        if record.build is None:
            continue
        made[trial.point][trial.build] = record.build.setup is not None
        if record.build.executables_sha256 is not None:
            digests[trial.point][trial.build].add(record.build.executables_sha256)
    most = max((len(builds) for builds in made.values()), default=0)
    if most < 2:
        return None
    if not any(built for builds in made.values() for built in builds.values()):
        return f"package {package} has no setup.sh: its {most} builds are one and the same", False
    alike = [
        builds
        for point, builds in digests.items()
        if len(builds) > 1 and len(builds) == len(made[point]) and len(set().union(*builds.values())) == 1
    ]
    if alike and len(alike) == len(made):
        return f"all {len(alike[0])} builds of package {package} gave the same executables", True
    return None


def _judge_builds(package: str, pairs: Sequence[tuple[PlannedTrial, TrialRecord]], remedy: str) -> list[str]:
    """Say when builds that should differ by chance are one and the same."""
    identical = _find_identical(package, pairs)
    if identical is None:
        return []
    known, is_built = identical
    if not is_built:
        return [f"{known}, and what varies between them is nothing but time"]
    return [f"{known}: chance in compilation is not sampled{remedy}"]


def _name_remedy(experiment: Experiment) -> str:
    nested = experiment.replication
    if nested is None or nested.randomise_builds:
        return ", although it was drawn: neither the order of objects nor names of symbols matter to it"
    return "; write randomise_builds = true"
