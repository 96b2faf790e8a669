"""Interleaved order, reference trials, and blocks of hours and boots."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest
from made.synthetic import EXPERIMENT, make_record

from datamill.design.batches import list_batches
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.reference_trials import count_among
from datamill.design.trials import build_design, name_build
from datamill.experiment.file.parse import parse_experiment
from datamill.results.judgement.validity import REFERENCE_REASON
from datamill.results.tables.table import build_table

HOUR_NS = 3_600_000_000_000
START_NS = 1_700_000_000_000_000_000


def read(*changes: tuple[str, str], extra: str = ""):
    text = EXPERIMENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_experiment(text + extra, name="experiment.toml")


def test_interleaved_trials_come_once_each_before_any_comes_again() -> None:
    design = build_design(read(("seed = 7", 'seed = 7\norder = "interleaved"')))
    rounds = [list(members) for _, members in groupby(design.trials, key=lambda trial: trial.block)]
    assert [members[0].block for members in rounds] == ["1", "2", "3"]
    for members in rounds:
        assert sorted(trial.point for trial in members) == list(range(1, 9))
        assert {trial.replicate for trial in members} == {int(members[0].block)}
    assert len({tuple(trial.point for trial in members) for members in rounds}) == 3
    assert [trial.order for trial in design.trials] == list(range(1, 25))


def test_interleaved_executions_of_a_build_are_spread_over_the_run() -> None:
    nested = "\n[replication]\nbuilds = 4\nexecutions = 4\n"
    experiment = read(("replicates = 3\nseed = 7", 'seed = 7\norder = "interleaved"'), extra=nested)
    trials = build_design(experiment).trials
    assert Counter(Counter(trial.block for trial in trials).values()) == {8: 16}
    by_block = {trial.block: trial.build for trial in trials}
    assert list(by_block.values()) != sorted(by_block.values())


def test_interleaved_batches_number_their_blocks_on() -> None:
    rule = '\n[replication]\nuntil = { half_width = "1%" }\nmax_trials = 120\nexecutions = 3\n'
    experiment = read(("replicates = 3\nseed = 7", 'seed = 7\norder = "interleaved"'), extra=rule)
    design = build_design(experiment)
    assert list(dict.fromkeys(trial.block for trial in design.trials)) == [str(n) for n in range(1, 16)]
    for trial in design.trials:
        assert sum(other.block == trial.block for other in design.trials) == 8
    assert [len(batch) for batch in list_batches(experiment, design)] == [24] + [8] * 12


@pytest.mark.parametrize("every", [1, 7, 8, 24, 100])
def test_reference_trials_stand_at_both_ends_and_after_every_few_trials(every: int) -> None:
    experiment = read(extra=f'\n[reference]\npackage = "b"\nevery = {every}\n')
    design = build_design(experiment)
    kinds = "".join("R" if trial.purpose == "reference" else "." for trial in design.trials)
    assert kinds.startswith("R")
    assert kinds.endswith("R")
    runs = [len(run) for run in kinds.strip("R").split("R")]
    assert set(runs[:-1]) <= {every}
    assert runs[-1] <= every
    assert kinds.count(".") == 24
    assert count_trials(experiment, choose_factors(experiment)) == len(design.trials)
    assert count_among(experiment, len(design.trials)) == kinds.count("R")
    assert [trial.order for trial in design.trials] == list(range(1, len(design.trials) + 1))


def test_reference_trials_are_alike_and_leave_the_others_as_they_are() -> None:
    experiment = read(extra='\n[reference]\npackage = "b"\nevery = 5\n')
    design = build_design(experiment)
    references = [trial for trial in design.trials if trial.purpose == "reference"]
    assert [trial.trial_id for trial in references] == [f"r{n:02d}" for n in range(1, 7)]
    levels = {tuple(trial.levels.items()) for trial in references}
    assert levels == {(("package", "b"), ("optimization", "-O0"), ("aslr", "on"))}
    assert len({name_build(design, trial) for trial in references}) == 1
    assert len({trial.seed for trial in references}) == len(references)
    others = [replace(trial, order=0) for trial in design.trials if trial.purpose == "question"]
    assert others == [replace(trial, order=0) for trial in build_design(read()).trials]


def test_chance_has_no_part_in_reference_trials() -> None:
    nuisance = (
        '\n[nuisance]\nlink_order = { fix = "random" }\nenv_padding = { randomise = "16..4096" }\n'
        '[reference]\npackage = "a"\nevery = 5\n'
    )
    references = [t for t in build_design(read(extra=nuisance)).trials if t.purpose == "reference"]
    assert {trial.levels["link_order"] for trial in references} == {"default"}
    assert {trial.levels["env_padding"] for trial in references} == {"16"}


def test_hours_and_boots_are_blocks_of_the_table() -> None:
    for block, expected in (
        ("hour", ["hour 1", "hour 1", "hour 2", "hour 26"]),
        ("boot", ["boot 1", "boot 2", "boot 2", "boot 1"]),
        ("none", ["here"] * 4),
    ):
        experiment = read(("seed = 7", f'seed = 7\nblock = "{block}"'))
        design = build_design(experiment)
        offsets = [(0, "x"), (HOUR_NS - 1, "y"), (HOUR_NS, "y"), (25 * HOUR_NS, "x")]
        records = [
            make_record(
                trial.trial_id,
                started_unix_ns=START_NS + offset,
                host=replace_boot(boot),
                package=trial.package,
                levels={name: level for name, level in trial.levels.items() if name != "package"},
            )
            for trial, (offset, boot) in zip(design.trials, offsets, strict=False)
        ]
        table = build_table(experiment, design, records)
        rows = table.filter(table["response"] == "rate").sort("order")
        assert rows["block"].to_list() == expected


def test_one_hour_divides_nothing_so_that_interleaved_rounds_are_the_blocks() -> None:
    for offset, expected in ((1, {"1", "2", "3"}), (HOUR_NS, {"hour 1", "hour 2"})):
        experiment = read(("seed = 7", 'seed = 7\nblock = "hour"\norder = "interleaved"'))
        design = build_design(experiment)
        records = [
            make_record(
                trial.trial_id,
                started_unix_ns=START_NS + (offset if trial.replicate == 2 else 0),
                package=trial.package,
                levels={name: level for name, level in trial.levels.items() if name != "package"},
            )
            for trial in design.trials
        ]
        assert set(build_table(experiment, design, records)["block"]) == expected


def replace_boot(boot: str):
    host = make_record("t").host
    return type(host)(host.arch, host.kernel, host.cpu_model, host.cores, host.memory_bytes, boot)


def test_reference_trials_are_rows_of_the_table_and_no_observations_of_the_question() -> None:
    experiment = read(extra='\n[reference]\npackage = "b"\nevery = 5\n')
    design = build_design(experiment)
    table = build_table(experiment, design, [make_record(trial.trial_id) for trial in design.trials[:8]])
    rows = table.filter((table["purpose"] == "reference") & (table["response"] == "rate"))
    assert rows["trial_id"].to_list() == ["r01", "r02"]
    assert not rows["valid"].any()
    assert set(rows["exclusion"]) == {REFERENCE_REASON}
    assert rows["value"].null_count() == 0
