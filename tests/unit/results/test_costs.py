"""What repetition took: builds side by side, executions, measurements by calibration."""

from dataclasses import replace

import pytest
from made.synthetic import make_phase, make_record

from datamill.design.design import Design, PlannedTrial
from datamill.experiment.errors import InputError
from datamill.protocol.trial import BuildFacts, CompilerFacts, TrialRecord
from datamill.results.judgement.costs import measure_costs

COMPILER = CompilerFacts(1, 1, {"-O2": 1}, 1, 1, 1, 0, 1, {"gcc": 1}, 0)
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def make_trial(trial_id: str, **changes: object) -> PlannedTrial:
    planned = PlannedTrial(trial_id, 1, 1, 1, "a", {}, "here", 1, measurements=100, warmup=20)
    return replace(planned, **changes)  # type: ignore[arg-type]


def make_design(*trials: PlannedTrial) -> Design:
    return Design("full factorial", 1, 1, (), trials)


def make_timed(
    trial_id: str,
    run_s: float,
    *,
    around_s: float = 0.3,
    build: str = "b1",
    setup: tuple[float, float] = (0.0, 8.0),
    reused: bool = True,
) -> TrialRecord:
    """A trial whose `run.sh` took `run_s`, with a build that ran from `setup[0]` for `setup[1]` seconds."""
    phase = make_phase(int(setup[1] * SECOND), started_unix_ns=START + int(setup[0] * SECOND))
    own_s = 0.0 if reused else setup[1]
    return make_record(
        trial_id,
        started_unix_ns=START,
        ended_unix_ns=START + int((run_s + around_s + own_s) * SECOND),
        run=make_phase(int(run_s * SECOND)),
        build=BuildFacts(build, "shared", reused, phase, COMPILER),
    )


def test_a_measurement_is_the_slope_from_calibration_to_full_executions() -> None:
    design = make_design(
        make_trial("t1"), make_trial("t2"), make_trial("c1", purpose="calibration", measurements=1, warmup=0)
    )
    # 0.5 s to start, 10 ms a measurement: 120 with warm-up take 1.7 s, one takes 0.51 s.
    records = [make_timed("t1", 1.7), make_timed("t2", 1.7), make_timed("c1", 0.51)]
    costs = measure_costs(records, design, measurements=100)
    assert costs.measurement_s == pytest.approx(0.01)
    # Start, twenty warm-up measurements, and what the worker does around.
    assert costs.execution_s == pytest.approx(0.5 + 0.2 + 0.3)
    assert "1 calibration trial" in costs.source


def test_builds_side_by_side_count_as_what_they_took_of_the_machine() -> None:
    design = make_design(make_trial("t1"), make_trial("t2"))
    records = [
        make_timed("t1", 1.0, build="b1", setup=(0.0, 8.0)),
        make_timed("t2", 1.0, build="b2", setup=(0.0, 8.0)),
    ]
    costs = measure_costs(records, design)
    assert costs.build_s == pytest.approx(4.0)
    assert "2.0 ran at once" in costs.source


def test_a_build_that_many_trials_share_counts_once() -> None:
    design = make_design(make_trial("t1"), make_trial("t2"), make_trial("t3"))
    records = [
        make_timed("t1", 1.0, build="b1", setup=(0.0, 8.0)),
        make_timed("t2", 1.0, build="b1", setup=(0.0, 8.0)),
        make_timed("t3", 1.0, build="b2", setup=(8.0, 4.0)),
    ]
    assert measure_costs(records, design).build_s == pytest.approx(6.0)


def test_a_trials_own_build_is_not_counted_as_execution() -> None:
    costs = measure_costs([make_timed("t1", 1.0, reused=False)], make_design(make_trial("t1")))
    assert costs.execution_s == pytest.approx(1.3)
    assert costs.build_s == pytest.approx(8.0)


def test_without_calibration_a_time_stands_for_itself() -> None:
    costs = measure_costs(
        [make_timed("t1", 1.7)], make_design(make_trial("t1")), measurements=100, measured_s=0.01
    )
    assert costs.measurement_s == pytest.approx(0.01)
    assert costs.execution_s == pytest.approx(2.0 - 1.0)
    assert "without calibration trials" in costs.source


def test_without_calibration_and_without_a_time_it_asks() -> None:
    with pytest.raises(InputError, match="no calibration trials") as raised:
        measure_costs([make_timed("t1", 1.7)], make_design(make_trial("t1")), measurements=100)
    assert "measurement_time=" in raised.value.remedy


def test_measured_times_longer_than_the_execution_take_all_of_it() -> None:
    costs = measure_costs(
        [make_timed("t1", 1.7)], make_design(make_trial("t1")), measurements=100, measured_s=1.0
    )
    assert costs.measurement_s == pytest.approx(0.02)
    assert costs.execution_s == pytest.approx(0.0)


def test_calibration_that_took_as_long_says_so() -> None:
    design = make_design(make_trial("t1"), make_trial("c1", purpose="calibration", measurements=1, warmup=0))
    costs = measure_costs([make_timed("t1", 1.0), make_timed("c1", 1.1)], design, measurements=100)
    assert costs.measurement_s == 0.0
    assert "no time that can be seen" in costs.source


def test_a_single_value_of_an_execution_costs_the_execution() -> None:
    costs = measure_costs([make_timed("t1", 1.7)], make_design(make_trial("t1", measurements=0, warmup=0)))
    assert costs.measurement_s == 0.0
    assert costs.execution_s == pytest.approx(2.0)


def test_without_a_completed_trial_nothing_is_known() -> None:
    with pytest.raises(InputError, match="no trial completed"):
        measure_costs([], make_design(make_trial("t1")))
