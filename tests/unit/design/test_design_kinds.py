"""Designs other than the full factorial, from the experiment file to design.json."""

from collections import Counter
from pathlib import Path

import pytest
from made.synthetic import make_bundle_folder

from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.trials import build_design
from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.offers import drop_unavailable_policy
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.offers import FactorOffer, MissingLevel
from datamill.results.bundles.opening import open_bundle

HEAD = """
[experiment]
name = "chosen"
replicates = 2
seed = 5
{design}
[[package]]
name = "a"
path = "a"
"""
SECOND = '[[package]]\nname = "b"\npath = "b"\n'
FACTORS_OF_TWO = """
[factors]
aslr = ["on", "off"]
env_padding = [0, 10928]
niceness = [0, 10]
stack_limit = ["default", "unlimited"]
locale = ["C.UTF-8", "C"]
user_name_length = [4, 32]
"""
MIXED = FACTORS_OF_TWO.replace("[4, 32]", "[4, 8, 32]")
#: Design keys, factors, kind, points of one package, resolution.
KINDS = [
    ('design = "fractional"', FACTORS_OF_TWO, "fractional factorial", 16, 4),
    ('design = "fractional"\nresolution = 3', FACTORS_OF_TWO, "fractional factorial", 8, 3),
    ('design = "fractional"\nresolution = 6', FACTORS_OF_TWO, "fractional factorial", 32, 6),
    ('design = "d-optimal"\nmax_points = 20\ninteraction_order = 1', MIXED, "D-optimal", 20, 0),
    ('design = "covering"', MIXED, "covering array", 8, 0),
]


@pytest.mark.parametrize(("keys", "factors", "kind", "points", "resolution"), KINDS)
def test_each_kind_has_the_points_that_it_states(
    keys: str, factors: str, kind: str, points: int, resolution: int
) -> None:
    experiment = parse_experiment(HEAD.format(design=keys) + factors, name="e.toml")
    design = build_design(experiment)
    assert design.kind == kind
    assert design.points == points
    assert design.resolution == resolution
    assert design.construction
    assert design.aliases
    assert len(design.trials) == 2 * points == count_trials(experiment, choose_factors(experiment))
    combinations = Counter(tuple(sorted(trial.levels.items())) for trial in design.trials)
    assert set(combinations.values()) == {2}
    # Every factor varies, each level equally often but for designs that cannot.
    for factor in design.crossed:
        counts = Counter(trial.levels[factor.name] for trial in design.trials)
        assert set(counts) == set(factor.levels)
        assert resolution == 0 or len(set(counts.values())) == 1


def test_each_package_is_measured_at_every_chosen_point() -> None:
    text = HEAD.format(design='design = "fractional"') + SECOND + FACTORS_OF_TWO
    design = build_design(parse_experiment(text, name="e.toml"))
    assert design.points == 32

    def list_points(package: str) -> set[tuple[tuple[str, str], ...]]:
        return {
            tuple(sorted((name, level) for name, level in trial.levels.items() if name != "package"))
            for trial in design.trials
            if trial.package == package
        }

    assert list_points("a") == list_points("b")
    assert len(list_points("a")) == 16


def test_a_budget_of_points_is_for_all_packages() -> None:
    keys = 'design = "d-optimal"\nmax_points = 21\ninteraction_order = 1'
    text = HEAD.format(design=keys) + SECOND + FACTORS_OF_TWO
    assert build_design(parse_experiment(text, name="e.toml")).points == 20
    with pytest.raises(InputError, match="max_points allows 6 for each of 2 packages"):
        build_design(parse_experiment(text.replace("21", "13"), name="e.toml"))


def test_the_generators_are_kept_by_the_points() -> None:
    text = HEAD.format(design='design = "fractional"') + FACTORS_OF_TWO
    design = build_design(parse_experiment(text, name="e.toml"))
    sign = {factor.name: {factor.levels[0]: -1, factor.levels[1]: 1} for factor in design.crossed}
    assert len(design.generators) == 2
    for generator in design.generators:
        name, _, product = generator.partition(" = ")
        for trial in design.trials:
            value = 1
            for other in product.split(" x "):
                value *= sign[other][trial.levels[other]]
            assert sign[name][trial.levels[name]] == value


def test_what_was_given_up_is_in_the_bundle(tmp_path: Path) -> None:
    text = HEAD.format(design='design = "fractional"\nresolution = 3') + FACTORS_OF_TWO
    made = make_bundle_folder(tmp_path / "bundle", text)
    read = open_bundle(tmp_path / "bundle")
    assert read.design == made.design
    assert read.design.resolution == 3
    assert read.design.generators
    assert any("Cannot be told apart: aslr = " in sentence for sentence in read.design.aliases)


def test_a_full_design_says_nothing_of_aliases() -> None:
    design = build_design(parse_experiment(HEAD.format(design="") + FACTORS_OF_TWO, name="e.toml"))
    assert design.kind == "full factorial"
    assert design.points == design.combinations == 64
    assert (design.construction, design.aliases, design.generators) == ("", (), ())


@pytest.mark.parametrize(
    ("keys", "factors", "message", "remedy"),
    [
        ('design = "fractional"', MIXED, '"user_name_length" has 3 levels', "Name two of them"),
        ('design = "screening"', MIXED, '"user_name_length" has 3 levels', "d-optimal"),
        ('design = "fractional"', "", "no factor with two", "Name factors with two levels"),
        ('design = "d-optimal"', MIXED, "needs a budget of points", "max_points = 24"),
        (
            'design = "d-optimal"\nmax_points = 9',
            MIXED,
            "28 parameters needs at least 28",
            "interaction_order",
        ),
        ('design = "full"\nresolution = 4', MIXED, "resolution belongs to", "fractional"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_remedy(
    keys: str, factors: str, message: str, remedy: str
) -> None:
    with pytest.raises(InputError) as refused:
        build_design(parse_experiment(HEAD.format(design=keys) + factors, name="e.toml"))
    assert message in refused.value.message
    assert remedy in refused.value.remedy


def test_a_screening_varies_the_usual_hidden_factors_at_two_levels_each() -> None:
    experiment = parse_experiment(HEAD.format(design='design = "screening"'), name="e.toml")
    design = build_design(experiment)
    screened = {factor.name: factor.levels for factor in design.crossed}
    assert screened == {name: factor.screening for name, factor in FACTORS.items() if factor.screening}
    assert {"symbol_seed", "niceness", "heap_limit", "root_filesystem", "ksm", "irq_affinity"} <= set(
        screened
    )
    assert not {"swap", "warmups", "reboot", "c_states", "drop_caches"} & set(screened)
    assert design.kind == "screening"
    assert design.resolution == 4
    # 22 factors: 48 points in a folded Plackett-Burman design, 64 in a regular fraction.
    assert len(screened) == 22
    assert design.points == 48
    for factor in FACTORS.values():
        for level in factor.screening:
            assert factor.read_level(level) == level
        assert not factor.screening or factor.default in ("", factor.screening[0])


def test_a_screening_leaves_what_the_experiment_names_as_it_says() -> None:
    sections = """
[factors]
niceness = [0, 10]
[nuisance]
policy = "randomise"
locale = { fix = "C" }
stack_limit = { vary = ["8MiB", "unlimited"] }
"""
    text = HEAD.format(design='design = "screening"') + sections
    design = build_design(parse_experiment(text, name="e.toml"))
    roles = {factor.name: (factor.role, factor.levels) for factor in design.factors}
    assert roles["niceness"] == ("factor", ("0", "10"))
    assert roles["stack_limit"] == ("factor", ("8388608", "unlimited"))
    assert roles["locale"] == ("nuisance", ("C",))
    assert roles["env_padding"][0] == "nuisance"
    assert roles["pie"] == ("factor", ("off", "on"))


def test_a_policy_to_vary_asks_for_no_more_than_a_screening_does_anyway() -> None:
    text = HEAD.format(design='design = "screening"')
    with_policy = text + '[nuisance]\npolicy = "vary"\n'
    assert build_design(parse_experiment(with_policy, name="e")) == build_design(
        parse_experiment(text, name="e")
    )


def test_a_screening_goes_without_what_the_host_does_not_have() -> None:
    experiment = parse_experiment(HEAD.format(design='design = "screening"'), name="e.toml")
    offers = {
        "numa_policy": FactorOffer(
            "numa_policy", "process", ("default",), (MissingLevel("interleave", "one memory node"),)
        ),
        "pie": FactorOffer("pie", "build", (), reason="nothing is built"),
    }
    design = build_design(drop_unavailable_policy(experiment, offers))
    names = {factor.name for factor in design.crossed}
    assert {"numa_policy", "pie"}.isdisjoint(names)
    assert len(names) == 20
    # The folded design of twenty points holds twenty factors.
    assert design.points == 40
    assert design.construction == "Plackett-Burman design of 20 points, folded over"
