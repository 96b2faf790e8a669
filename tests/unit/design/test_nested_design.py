"""Nested replication in the plan: builds, executions, measurements, and what shows their costs."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from datamill.cli.experiment.design.replication_text import (
    list_extra_trials,
    phrase_builds,
    phrase_replicates,
)
from datamill.conduct.question.design_size import size_design
from datamill.conduct.question.doubts import list_replication_doubts
from datamill.conduct.question.needed_builds import count_nested_builds
from datamill.design.design import Design
from datamill.design.nuisance import phrase_treatment
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.trials import build_design, name_build
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment

TEXT = """
[experiment]
name = "nested"
seed = 2006
[replication]
builds = 4
executions = 3
measurements = 100
warmup = 20
randomise_builds = true
[[package]]
name = "xz"
path = "xz"
[[package]]
name = "bzip2"
path = "bzip2"
[factors]
optimization = ["-O0", "-O2"]
aslr = ["on", "off"]
"""


def parse(text: str = TEXT) -> Experiment:
    return parse_experiment(text, name="experiment.toml")


def build(text: str = TEXT) -> Design:
    return build_design(parse(text))


def list_question(design: Design) -> list:
    return [trial for trial in design.trials if trial.purpose == "question"]


def test_every_design_point_has_all_builds_and_each_build_all_executions() -> None:
    design = build()
    places = defaultdict(list)
    for trial in list_question(design):
        places[trial.point].append((trial.build, trial.execution))
    assert len(places) == 2 * 2 * 2
    for found in places.values():
        assert sorted(found) == [(build, execution) for build in range(1, 5) for execution in range(1, 4)]
    assert {(trial.measurements, trial.warmup) for trial in list_question(design)} == {(100, 20)}
    assert design.nested


def test_replicates_are_numbered_through_builds_and_executions() -> None:
    for trial in list_question(build()):
        assert trial.replicate == (trial.build - 1) * 3 + trial.execution


def test_design_points_that_share_package_and_build_factors_share_builds() -> None:
    design = build()
    seeds = defaultdict(set)
    names = defaultdict(set)
    for trial in list_question(design):
        key = (trial.package, trial.levels["optimization"], trial.build)
        seeds[key].add(trial.build_seed)
        names[key].add(name_build(design, trial))
    assert len(seeds) == 2 * 2 * 4
    assert all(len(found) == 1 for found in seeds.values()), "aslr does not change a build"
    assert all(len(found) == 1 for found in names.values())
    assert len(set().union(*seeds.values())) == len(seeds), "no two builds have one seed"
    assert len(set().union(*names.values())) == len(names)


def test_seeds_of_builds_and_trials_are_the_same_everywhere() -> None:
    first = next(trial for trial in build().trials if trial.trial_id == "t01")
    assert (first.seed, first.build_seed) == (179856142238439, 117660507374770)


def test_randomised_builds_draw_link_order_and_symbols_for_each_build() -> None:
    design = build()
    drawn = {factor.name: factor for factor in design.factors if factor.role == "nuisance"}
    assert set(drawn) == {"symbol_seed", "link_order"}
    assert {trial.levels["link_order"] for trial in design.trials} == {"random"}
    assert phrase_treatment(drawn["link_order"], nested=True) == "random, another one in each build"
    assert phrase_treatment(drawn["link_order"]) == "random, another one in each trial"


def test_a_switch_that_is_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="randomise_builds must be true or false, not 1"):
        parse(TEXT.replace("randomise_builds = true", "randomise_builds = 1"))


def test_what_the_experiment_names_itself_is_not_drawn_and_what_a_policy_names_is() -> None:
    named = build(TEXT + '[nuisance]\nlink_order = { fix = "reverse" }\n')
    assert {trial.levels["link_order"] for trial in named.trials} == {"reverse"}
    assert {trial.levels["symbol_seed"] for trial in named.trials} == {"random"}
    by_policy = build(TEXT + '[nuisance]\npolicy = "fix"\n')
    assert {trial.levels["link_order"] for trial in by_policy.trials} == {"random"}
    nothing_left = TEXT + '[nuisance]\nlink_order = { fix = "reverse" }\nsymbol_seed = { fix = "default" }\n'
    with pytest.raises(InputError, match="sets both itself") as refused:
        parse(nothing_left)
    assert "randomise_builds" in str(refused.value)


def test_levels_of_build_factors_are_drawn_for_each_build_and_others_for_each_trial() -> None:
    nuisance = '[nuisance]\npie = { randomise = "100%" }\nenv_padding = { randomise = "0..4096" }\n'
    design = build(TEXT.replace("builds = 4", "builds = 40") + nuisance)
    levels = defaultdict(set)
    for trial in list_question(design):
        levels[trial.build_seed].add(trial.levels["pie"])
    assert all(len(found) == 1 for found in levels.values())
    both = Counter(next(iter(found)) for found in levels.values())
    assert set(both) == {"on", "off"}
    assert min(both.values()) > 40
    padding = {trial.levels["env_padding"] for trial in list_question(design)}
    assert len(padding) > 400


def test_calibration_trials_take_one_measurement_and_disturb_no_other_trial() -> None:
    design = build()
    extra = [trial for trial in design.trials if trial.purpose == "calibration"]
    assert Counter(trial.package for trial in extra) == {"xz": 2, "bzip2": 2}
    assert {(trial.measurements, trial.warmup) for trial in extra} == {(1, 0)}
    assert sorted(trial.trial_id for trial in extra) == ["c01", "c02", "c03", "c04"]
    for trial in extra:
        like = [
            other
            for other in list_question(design)
            if (other.point, other.build) == (trial.point, trial.build)
        ]
        assert like[0].build_seed == trial.build_seed, "it measures a build of the question"
        assert trial.execution not in {other.execution for other in like}
        assert trial.seed not in {other.seed for other in design.trials if other is not trial}
    without = build(TEXT.replace("measurements = 100\nwarmup = 20\n", "measurements = 1\n"))
    assert not [trial for trial in without.trials if trial.purpose == "calibration"]
    assert [trial.trial_id for trial in without.trials] == [t.trial_id for t in list_question(design)]
    assert [trial.seed for trial in without.trials] == [trial.seed for trial in list_question(design)]


def test_calibration_trials_come_anywhere_in_the_order() -> None:
    places = set()
    for seed in range(30):
        design = build(TEXT.replace("seed = 2006", f"seed = {seed}"))
        assert [trial.order for trial in design.trials] == list(range(1, len(design.trials) + 1))
        places |= {4 * t.order // len(design.trials) for t in design.trials if t.purpose == "calibration"}
    assert {0, 1, 2, 3} <= places


@pytest.mark.parametrize("order", ["random", "interleaved"])
def test_the_size_is_known_without_building_a_nested_design(order: str) -> None:
    text = TEXT.replace('name = "nested"', f'name = "nested"\norder = "{order}"')
    experiment = parse(text)
    assert count_trials(experiment, choose_factors(experiment)) == len(build(text).trials) == 8 * 12 + 4


def test_without_replication_a_replicate_is_a_build_unless_builds_are_shared() -> None:
    text = TEXT[: TEXT.index("[replication]")] + TEXT[TEXT.index("[[package]]") :]
    fresh = build(text.replace("seed = 2006", "seed = 2006\nreplicates = 3"))
    assert {(trial.build, trial.execution) for trial in fresh.trials} == {(1, 1), (2, 1), (3, 1)}
    assert not fresh.nested
    text = text.replace("seed = 2006", 'seed = 2006\nreplicates = 3\nbuild = "shared"')
    shared = build(text)
    assert {(trial.build, trial.execution) for trial in shared.trials} == {(1, 1), (1, 2), (1, 3)}
    drawn = build(text + '[nuisance]\nlink_order = { randomise = ["random"] }\n')
    assert {(trial.build, trial.execution) for trial in drawn.trials} == {(1, 1), (2, 1), (3, 1)}
    assert {trial.build_seed for trial in (*fresh.trials, *shared.trials, *drawn.trials)} == {None}


def test_replication_in_words() -> None:
    experiment = parse()
    factors = choose_factors(experiment)
    assert phrase_replicates(experiment) == (
        "12 = 4 builds x 3 executions of each, 100 measurements in each execution after 20 to warm up"
    )
    extra = list_extra_trials(experiment, size_design(experiment, factors, 100))
    assert extra == ["4 of them show what a measurement costs"]
    builds = phrase_builds(count_nested_builds(experiment, factors, 2))
    assert builds.startswith("16, 4 for each package and optimization"), builds
    assert "symbol_seed and link_order" in builds
    assert not list_replication_doubts(experiment, factors)
    plain = parse(TEXT.replace("randomise_builds = true", ""))
    assert "Write randomise_builds = true" in list_replication_doubts(plain, choose_factors(plain))[0]
    one = parse(TEXT.replace("builds = 4", "builds = 1"))
    assert "needs several builds" in list_replication_doubts(one, choose_factors(one))[0]
