"""From the tidy table to one value a round and package."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made.synthetic import make_bundle_folder, make_failed_record, make_phase, make_record

from datamill.analysis.sequential.rounds import Rounds, gather_rounds
from datamill.design.design import PlannedTrial
from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.tables.table import build_table

TEXT = """
[experiment]
name = "synthetic"
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
aslr = ["on", "off"]
[responses.score]
unit = "s"
formula = "score"
direction = "lower"
[replication]
builds = 2
executions = 2
measurements = 3
warmup = 1
until = { detect = "10%" }
max_trials = 120
"""


def make_scored_record(trial: PlannedTrial, scores: tuple[float, ...]) -> TrialRecord:
    return make_record(
        trial.trial_id,
        package=trial.package,
        levels={"aslr": trial.levels["aslr"]},
        run=make_phase(),
        factors=(),
        metrics={"score": scores},
    )


def gather(bundle: Bundle, records: list[TrialRecord]) -> Rounds:
    table = build_table(bundle.experiment, bundle.design, records)
    return gather_rounds(bundle.experiment, bundle.design, table)


def list_first_builds(bundle: Bundle, builds: int) -> list[PlannedTrial]:
    question = [trial for trial in bundle.design.trials if trial.purpose == "question"]
    return [trial for trial in question if trial.build <= builds]


def score(trial: PlannedTrial) -> tuple[float, ...]:
    """A warm-up of no interest, then three that differ by package, point, build, execution and place."""
    level = 100 * (trial.package == "b") + 10 * (trial.levels["aslr"] == "on") + 2 * trial.build
    return (9999.0, *(level + 0.5 * trial.execution + step for step in (0.0, 0.1, 0.2)))


def test_a_round_is_the_mean_over_points_of_means_over_executions_of_means_over_measurements(
    tmp_path: Path,
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle", TEXT)
    rounds = gather(
        bundle, [make_scored_record(trial, score(trial)) for trial in list_first_builds(bundle, 3)]
    )
    assert rounds.packages == ("a", "b")
    assert rounds.numbers == (1, 2, 3)
    expected = [[5 + 2 * build + 0.75 + 0.1, 105 + 2 * build + 0.75 + 0.1] for build in (1, 2, 3)]
    assert rounds.values == pytest.approx(np.array(expected))


def test_an_execution_that_failed_leaves_its_round_to_the_others_of_its_build(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle", TEXT)
    trials = list_first_builds(bundle, 2)
    lost = next(trial for trial in trials if (trial.build, trial.execution, trial.package) == (2, 1, "a"))
    records = [
        make_failed_record(trial.trial_id) if trial is lost else make_scored_record(trial, score(trial))
        for trial in trials
    ]
    rounds = gather(bundle, records)
    assert not np.isnan(rounds.values).any()
    # The other execution of that build at that point is half a unit higher than their mean.
    assert rounds.values[1, 0] == pytest.approx(5 + 4 + 0.75 + 0.1 + 0.25 / 2)


def test_a_point_that_lost_all_executions_takes_its_package_out_of_the_round(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle", TEXT)
    trials = list_first_builds(bundle, 2)
    point = trials[0].point
    lost = [trial.trial_id for trial in trials if (trial.point, trial.build) == (point, 1)]
    records = [
        make_failed_record(trial.trial_id)
        if trial.trial_id in lost
        else make_scored_record(trial, score(trial))
        for trial in trials
    ]
    rounds = gather(bundle, records)
    assert np.isnan(rounds.values).sum() == 1
    first, second = rounds.of_pair("a", "b")
    assert (first.size, second.size) == (1, 1)
    assert rounds.of_package(trials[0].package).size == 1


def test_many_measurements_of_one_execution_are_not_taken_for_rounds(tmp_path: Path) -> None:
    text = TEXT.replace("builds = 2\nexecutions = 2", "executions = 2").replace("= 3", "= 50")
    bundle = make_bundle_folder(tmp_path / "bundle", text)
    trials = [trial for trial in bundle.design.trials if trial.purpose == "question" and trial.replicate <= 2]
    records = [make_scored_record(trial, tuple(float(step) for step in range(51))) for trial in trials]
    rounds = gather(bundle, records)
    assert rounds.numbers == (1, 2)
    assert rounds.values == pytest.approx(np.full((2, 2), 25.5))


FLEET_TEXT = TEXT.replace("builds = 2\nexecutions = 2\nmeasurements = 3\nwarmup = 1", "executions = 2")
SPEED = {"fast": 1.0, "slow": 40.0}


def gather_fleet(first: Callable[[PlannedTrial], float]) -> Rounds:
    experiment = parse_experiment(FLEET_TEXT, name="experiment.toml")
    design = build_design(experiment, machines=("fast", "slow"))
    trials = [trial for trial in design.trials if trial.replicate <= 3]
    records = [make_scored_record(trial, (first(trial),)) for trial in trials]
    table = build_table(experiment, design, records)
    return gather_rounds(experiment, design, table)


def test_a_round_over_machines_has_each_in_percent_of_its_own_level_so_that_all_count_alike() -> None:
    ratio = {("fast", "a"): 1.0, ("slow", "a"): 1.0, ("fast", "b"): 2.0, ("slow", "b"): 0.5}

    def score(trial: PlannedTrial) -> float:
        machine = trial.levels["machine"]
        return SPEED[machine] * ratio[machine, trial.package]

    rounds = gather_fleet(score)
    assert rounds.numbers == (1, 2, 3)
    # The geometric means are √2 and 40/√2, of which packages have 1/√2, √2, √2 and 1/√2: alike, so 100%.
    assert rounds.values == pytest.approx(np.full((3, 2), 100.0))


def test_all_packages_together_have_a_hundred_percent_of_their_machines_however_unlike_they_are() -> None:
    rounds = gather_fleet(lambda trial: SPEED[trial.levels["machine"]] * {"a": 1.0, "b": 9.0}[trial.package])
    assert rounds.values == pytest.approx(np.array([[20.0, 180.0]] * 3))


def test_the_level_of_a_machine_is_that_of_all_its_rounds_so_far() -> None:
    rounds = gather_fleet(
        lambda trial: SPEED[trial.levels["machine"]] * (1.0 if trial.replicate <= 2 else 3.0)
    )
    assert rounds.values == pytest.approx(np.array([[60.0] * 2, [60.0] * 2, [180.0] * 2]))


def test_values_that_are_not_all_positive_are_taken_as_they_are() -> None:
    rounds = gather_fleet(lambda trial: SPEED[trial.levels["machine"]] - 1.0)
    assert rounds.values == pytest.approx(np.full((3, 2), 39.0 / 2))


def test_steps_of_values_are_those_of_each_machine_in_percent_of_its_level() -> None:
    rounds = gather_fleet(lambda trial: SPEED[trial.levels["machine"]])
    assert rounds.steps == pytest.approx([(100.0 + 100 / 40) / 2] * 2)
