"""What nested replication promised and did not get."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from made.synthetic import make_failed_record, make_phase, make_record

from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.replication_warnings import list_replication_warnings

TEXT = """
[experiment]
name = "synthetic"
seed = 7
[replication]
builds = 3
executions = 2
measurements = 10
warmup = 5
[[package]]
name = "a"
path = "a"
[responses.time_s]
unit = "s"
direction = "lower"
"""
EXPERIMENT = parse_experiment(TEXT, name="experiment.toml")
DESIGN = build_design(EXPERIMENT)


def make_records(
    values: int = 15, digests: tuple[str | None, ...] = ("1", "2", "3"), *, setup: bool = True
) -> list[TrialRecord]:
    """A record for each trial; `digests` of the executables of each build."""
    records = []
    for trial in DESIGN.trials:
        record = make_record(trial.trial_id)
        build = msgspec.structs.replace(
            record.build,
            id=f"build-{trial.build}",
            policy="shared",
            setup=make_phase() if setup else None,
            executables_sha256=digests[trial.build - 1],
        )
        count = values if trial.purpose == "question" else 1
        records.append(msgspec.structs.replace(record, build=build, metrics={"time_s": (1.0,) * count}))
    return records


def warn(records: list[TrialRecord]) -> tuple[str, ...]:
    return list_replication_warnings(EXPERIMENT, DESIGN, records)


def test_what_was_asked_for_gives_no_warning() -> None:
    assert warn(make_records()) == ()


def test_equal_executables_of_all_builds_are_reported_with_the_remedy() -> None:
    (warning,) = warn(make_records(digests=("1", "1", "1")))
    assert warning == (
        "all 3 builds of package a gave the same executables: chance in compilation is not sampled; write "
        "randomise_builds = true"
    )
    assert warn(make_records(digests=("1", "1", "2"))) == (), "two of three are alike by chance"


def test_equal_executables_although_chance_took_part_have_another_remedy() -> None:
    drawn = replace(EXPERIMENT, replication=replace(EXPERIMENT.replication, randomise_builds=True))
    (warning,) = list_replication_warnings(drawn, DESIGN, make_records(digests=("1", "1", "1")))
    assert "neither the order of objects nor names of symbols matter" in warning


def test_builds_whose_executables_nobody_saw_are_not_called_equal() -> None:
    assert warn(make_records(digests=(None, None, None))) == ()
    assert warn(make_records(digests=("1", "1", None))) == ()


def test_a_package_without_setup_has_no_builds() -> None:
    (warning,) = warn(make_records(digests=(None, None, None), setup=False))
    assert "has no setup.sh: its 3 builds are one and the same" in warning


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (1, "reported one value of time_s in 6 of 6 executions, where 15 were asked for"),
        (10, "in 6 of 6 executions (first: 10 instead of 15, warm-up included)"),
    ],
)
def test_another_number_of_measurements_than_asked_for_is_reported(values: int, said: str) -> None:
    (warning,) = warn(make_records(values))
    assert said in warning


def test_what_did_not_complete_or_is_not_for_the_question_is_not_judged() -> None:
    records = make_records()
    wrong = [
        make_failed_record(record.trial_id)
        if index == 0
        else msgspec.structs.replace(record, metrics={"time_s": (1.0,) * 99})
        if trial.purpose == "calibration"
        else record
        for index, (trial, record) in enumerate(zip(DESIGN.trials, records, strict=True))
    ]
    assert warn(wrong) == ()


def test_without_replication_nothing_was_promised() -> None:
    plain = replace(EXPERIMENT, replication=None)
    assert list_replication_warnings(plain, DESIGN, make_records(1, ("1", "1", "1"))) == ()


def test_a_metric_that_is_not_repeated_names_those_of_the_package_that_are() -> None:
    records = [
        msgspec.structs.replace(record, metrics={**record.metrics, "step_s": (1.0,) * 15})
        for record in make_records(values=1)
    ]
    (warning,) = warn(records)
    assert "package a reported one value of time_s in 6 of 6 executions, where 15 were asked for" in warning
    assert "what it repeats is step_s" in warning
    assert "does not take as many" not in warning
