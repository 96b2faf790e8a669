"""Hidden factors: fixed, varied or drawn, and what becomes of them in design, table and models."""

from collections import Counter
from dataclasses import replace

import msgspec
import pytest
from made.synthetic import make_record

from datamill.analysis.answer.response import analyze_response
from datamill.design.design import DesignFactor
from datamill.design.nuisance import list_unsettled_factors, phrase_treatment
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.trials import build_design, name_build
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.results.tables.table import build_table

HEAD = """
[experiment]
name = "hidden"
replicates = 200
[[package]]
name = "a"
path = "a"
"""


def parse(sections: str):
    return parse_experiment(HEAD + sections, name="experiment.toml")


def design_of(sections: str):
    return build_design(parse(sections))


def test_a_fixed_factor_is_at_its_level_in_every_trial_and_is_no_design_point() -> None:
    design = design_of('[factors]\noptimization = ["-O0", "-O2"]\n[nuisance]\naslr = { fix = "off" }')
    assert design.points == 2
    assert {trial.levels["aslr"] for trial in design.trials} == {"off"}
    assert [(factor.name, factor.role) for factor in design.factors] == [
        ("optimization", "factor"),
        ("aslr", "nuisance"),
    ]


def test_drawn_levels_are_uniform_and_independent_between_factors_and_of_the_design() -> None:
    design = design_of(
        '[factors]\npie = ["on", "off"]\n[nuisance]\naslr = { randomise = "100%" }\n'
        'drop_caches = { randomise = ["none", "page"] }'
    )
    assert len(design.trials) == 400
    cells = Counter(
        (trial.levels["pie"], trial.levels["aslr"], trial.levels["drop_caches"]) for trial in design.trials
    )
    # Eight cells of 50 are expected; chi-squared with 6 degrees of freedom exceeds 22.5 once in a thousand.
    assert len(cells) == 8
    assert sum((count - 50) ** 2 / 50 for count in cells.values()) < 22.5


def test_a_range_is_drawn_from_without_the_numbers_that_cannot_be() -> None:
    design = design_of('[nuisance]\nenv_padding = { randomise = "0..16" }')
    drawn = Counter(int(trial.levels["env_padding"]) for trial in design.trials)
    assert set(drawn) == {0, *range(6, 17)}
    assert design.factors[0].levels == ()
    assert design.points == 1


def test_the_same_seed_draws_the_same_levels() -> None:
    text = '[nuisance]\nenv_padding = { randomise = "0..4096" }'
    assert design_of(text) == design_of(text)
    first = design_of(text).trials[0]
    assert parse(text).seed != 1
    other = build_design(replace(parse(text), seed=1))
    assert [trial.levels for trial in other.trials] != [trial.levels for trial in design_of(text).trials]
    assert first.levels.keys() == {"env_padding"}


def test_a_nuisance_that_varies_is_crossed_like_a_factor() -> None:
    design = design_of('[factors]\npie = ["on", "off"]\n[nuisance]\naslr = { vary = ["on", "off"] }')
    assert design.points == 4
    assert {factor.role for factor in design.factors} == {"factor"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fix", {"aslr": "fixed at on", "env_padding": "fixed at 0", "link_order": "fixed at default"}),
        (
            "vary",
            {
                "aslr": "varied over on, off",
                "env_padding": "varied over 0, 10928",
                "link_order": "varied over default, alphabetical, reverse",
            },
        ),
        (
            "randomise",
            {
                "aslr": "drawn for each trial from on, off",
                "env_padding": "drawn for each trial from 0..4096",
                "link_order": "random, another one in each trial",
            },
        ),
    ],
)
def test_a_policy_speaks_of_the_usual_hidden_factors(policy: str, expected: dict[str, str]) -> None:
    factors = design_of(f'[nuisance]\npolicy = "{policy}"').factors
    assert {factor.name: phrase_treatment(factor) for factor in factors} == expected
    assert list_unsettled_factors(factors) == ()


def test_what_the_question_or_a_line_of_its_own_names_is_not_the_policys_business() -> None:
    design = design_of(
        '[factors]\naslr = ["on", "off"]\n[nuisance]\npolicy = "randomise"\nenv_padding = { fix = 64 }'
    )
    treatments = {factor.name: phrase_treatment(factor) for factor in design.factors}
    assert treatments["aslr"] == "varied over on, off"
    assert treatments["env_padding"] == "fixed at 64"
    assert treatments["link_order"] == "random, another one in each trial"


def test_hidden_factors_that_nobody_mentions_are_named() -> None:
    assert list_unsettled_factors(design_of("").factors) == ("aslr", "env_padding", "link_order")


def test_the_size_of_a_design_does_not_count_nuisances() -> None:
    experiment = parse('[nuisance]\nenv_padding = { randomise = "0..4096" }\naslr = { fix = true }')
    assert count_trials(experiment, choose_factors(experiment)) == 200


def test_each_trial_has_a_build_of_its_own_where_its_seed_draws_one() -> None:
    design = design_of('[factors]\nlink_order = ["default", "random"]\noptimization = ["-O0", "-O2"]')
    builds = Counter(name_build(design, trial) for trial in design.trials)
    assert sorted(builds.values()) == [1] * 400 + [200, 200]


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        (
            '[factors]\naslr = ["on", "off"]\n[nuisance]\naslr = { fix = "on" }',
            "in [factors] and in [nuisance]",
        ),
        ('[nuisance]\naslr = "on"', "does not say what becomes of it"),
        ('[nuisance]\naslr = { fix = "on", vary = ["on"] }', "does not say what becomes of it"),
        ('[nuisance]\naslr = { randomize = "100%" }', 'Did you mean "randomise"?'),
        ('[nuisance]\naslr = { fix = ["on"] }', "at one level only"),
        ('[nuisance]\npolicy = "random"', 'Did you mean "randomise"?'),
        ("[nuisance]\npolicy = 3", "a text in quotes"),
        ('[nuisance]\naslr = { randomise = "0..4" }', "not a range of levels"),
        ('[nuisance]\nenv_padding = { randomise = "3..4096" }', "not a range of levels"),
        ('[nuisance]\nenv_padding = { vary = "0..4096" }', "not a whole number of bytes"),
        ('[nuisance]\naslrr = { fix = "on" }', 'Did you mean "aslr"?'),
        ('[factors]\nsession = ["same", "different"]', "there is no background load"),
        ('[factors]\nbackground_load = ["none", "busy"]', 'no [[load]] is called "busy"'),
        ('[[load]]\nname = "busy"\npath = "b"', 'nothing selects the load "busy"'),
        ('[[load]]\nname = "busy"', "needs a path"),
        ('[[load]]\nname = "none"\npath = "b"', "cannot name one"),
        ('[factors]\nmine = ["1"]', 'unknown factor "mine"'),
        ("[[factor]]\nname = 3", 'unknown key "name"'),
        ("[[factor]]\n", "needs a path"),
        ('[[factor]]\npath = "f"\n[[factor]]\npath = "f"', "named twice"),
        ('[factor]\npath = "f"', "a list of tables"),
    ],
)
def test_a_mistake_about_hidden_factors_is_named_with_a_remedy(sections: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(sections)
    assert words in str(caught.value)
    assert "experiment.toml" in caught.value.where


def test_loads_are_levels_of_the_background_load() -> None:
    experiment = parse(
        '[factors]\nbackground_load = "100%"\nsession = ["same", "different"]\n'
        '[[load]]\nname = "busy"\npath = "b"'
    )
    assert choose_factors(experiment)[0].levels == ("none", "busy")


def test_drawn_levels_are_in_the_table_and_in_no_model() -> None:
    experiment = parse(
        '[factors]\noptimization = ["-O0", "-O2"]\n[nuisance]\nenv_padding = { randomise = "0..4096" }'
    )
    experiment = replace(experiment, replicates=20)
    design = build_design(experiment)
    records = [make_record(trial.trial_id, levels=dict(trial.levels)) for trial in design.trials]
    table = build_table(experiment, design, records)
    assert table["context.env_padding"].n_unique() > 10
    assert "env_padding" not in table.columns
    analysis = analyze_response(experiment, design, table, experiment.responses[0])
    assert [factor.name for factor in analysis.observations.cells.factors] == ["optimization"]


def test_a_design_without_roles_is_one_of_factors_alone() -> None:
    old = b'{"name": "aslr", "levels": ["on", "off"], "available": 2, "build": false}'
    factor = msgspec.json.decode(old, type=DesignFactor)
    assert (factor.role, factor.drawn_from) == ("factor", "")


@pytest.mark.parametrize(
    ("wanted", "problem", "remedy"),
    [
        ('env_padding = { randomise = "4096..0" }', "it ends before it begins", 'Write "0..4096".'),
        ('env_padding = { randomise = "0..99999999" }', "it leaves what they can be", "1048576 bytes"),
        ('stack_limit = { randomise = "1MiB..2MiB" }', "whole numbers without a unit", "131072..131172"),
        ('aslr = { randomise = "0..3" }', "its levels are not numbers", "a list of levels"),
        ("aslr = { randomise = true }", "there is nothing to draw", "or fix it"),
        ('aslr = { randomise = ["off"] }', "there is nothing to draw", "or fix it"),
    ],
)
def test_a_range_or_level_that_cannot_be_drawn_from_is_refused_with_what_is_wrong(
    wanted: str, problem: str, remedy: str
) -> None:
    with pytest.raises(InputError) as refused:
        parse(f"[nuisance]\n{wanted}")
    assert problem in str(refused.value)
    assert remedy in refused.value.remedy
    assert refused.value.where.startswith("experiment.toml:9: [nuisance]")


def test_a_level_that_is_another_in_each_trial_may_be_drawn_alone() -> None:
    design = design_of('[nuisance]\nlink_order = { randomise = ["random"] }')
    assert {trial.levels["link_order"] for trial in design.trials} == {"random"}


@pytest.mark.parametrize("treatment", ["fix", "randomise"])
def test_a_level_that_is_another_in_each_trial_is_never_said_to_be_fixed(treatment: str) -> None:
    (factor,) = choose_factors(parse(f'[nuisance]\nlink_order = {{ {treatment} = "random" }}'))
    assert phrase_treatment(factor) == "random, another one in each trial"
