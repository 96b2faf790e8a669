"""What several experiments have in common, and what is asked of them where nobody chose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datamill.design.design import DesignFactor
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Response
from datamill.service.answers.compared.question import (
    AskedComparison,
    ExperimentOffer,
    complete_question,
    share_offers,
    spell_command,
)


def make_offer(
    number: int,
    packages: tuple[str, ...] = ("xz",),
    responses: tuple[str, ...] = ("wall_time",),
    **levels: tuple[str, ...],
) -> ExperimentOffer:
    factors = tuple(
        DesignFactor(name, known, len(known), build=False, role="factor" if len(known) > 1 else "nuisance")
        for name, known in levels.items()
    )
    return ExperimentOffer(number, packages, tuple(make_response(name) for name in responses), factors)


def make_response(name: str, formula: str = "wall_time_s") -> Response:
    return Response(name, "s", formula, "lower")


def ask(*offers: ExperimentOffer, **given: object) -> AskedComparison:
    return complete_question(AskedComparison(**given), share_offers(offers))  # type: ignore[arg-type]


def test_the_first_of_each_is_taken_that_all_have() -> None:
    found = ask(
        make_offer(1, ("gz", "xz", "bzip2"), ("score", "wall_time"), machine=("a", "b"), aslr=("on", "off")),
        make_offer(2, ("bzip2", "xz"), ("wall_time", "score"), machine=("b", "c"), aslr=("off",)),
    )
    assert found.where == (("package", "xz"), ("aslr", "off"), ("machine", "b"))
    assert found.response == "score"


def test_what_is_given_stays_and_asks_for_nothing_in_its_place() -> None:
    found = ask(
        make_offer(1, ("a", "b"), ("x",), machine=("m", "n")),
        make_offer(2, ("c", "d"), ("y",), machine=("o",)),
        response="z",
        where=(("machine", "m"), ("package", "b")),
    )
    assert (found.response, dict(found.where)) == ("z", {"package": "b", "machine": "m"})


def test_a_factor_with_one_level_in_each_experiment_is_not_chosen() -> None:
    assert ask(make_offer(1, machine=("a",)), make_offer(2, machine=("b",))).where == (("package", "xz"),)


def test_single_packages_that_differ_are_the_versions() -> None:
    assert ask(make_offer(1, ("xz-1",)), make_offer(2, ("xz-2",))).where == ()


@pytest.mark.parametrize(
    ("offers", "told", "remedy"),
    [
        (
            (make_offer(1, ("a", "b")), make_offer(2, ("c",))),
            "experiments 1 and 2 have no package of the same name",
            "Experiment 1 has a and b. Experiment 2 has c.",
        ),
        (
            (make_offer(1, responses=("x",)), make_offer(2, responses=("y",)), make_offer(3)),
            "experiments 1, 2 and 3 have no response in common",
            "Experiment 1 has x. Experiment 2 has y. Experiment 3 has wall_time.",
        ),
        (
            (make_offer(1, aslr=("on", "off")), make_offer(2)),
            "experiments 1 and 2 vary in aslr and have no level of it in common",
            "Experiment 1 has on and off. Experiment 2 has none.",
        ),
    ],
    ids=["package", "response", "level"],
)
def test_what_they_have_nothing_in_common_of_is_said_with_what_each_has(
    offers: tuple[ExperimentOffer, ...], told: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        ask(*offers)
    assert caught.value.message == f"{told}, so that they cannot be compared"
    assert caught.value.remedy == remedy


def test_a_response_that_each_computes_in_another_way_is_refused_with_both_formulas() -> None:
    one, two = make_offer(1, responses=("score", "time")), make_offer(2, responses=("score", "time"))
    one = replace(one, responses=(make_response("score", "cycles / 2"), *one.responses[1:]))
    two = replace(two, responses=(make_response("score", "cycles"), *two.responses[1:]))
    told = "score has different formulas: cycles / 2 in experiment 1 and cycles in experiment 2"
    with pytest.raises(InputError) as caught:
        ask(one, two, response="score")
    assert caught.value.message == f"{told}, so that these cannot be compared"
    assert caught.value.remedy == "Compare them by time."
    assert ask(one, two).response == "time"
    with pytest.raises(InputError, match=told):
        ask(*(replace(offer, responses=offer.responses[:1]) for offer in (one, two)))


def test_spaces_in_a_formula_say_nothing() -> None:
    one, two = (
        replace(make_offer(number), responses=(make_response("score", formula),))
        for number, formula in ((1, "cycles/2"), (2, "cycles / 2"))
    )
    assert ask(one, two).response == "score"


def test_the_command_asks_the_same() -> None:
    asked = AskedComparison("wall_time", (("package", "a b"),), series=True, threshold=0.05, seed=12345)
    assert spell_command([3, 7], asked) == (
        "datamill compare --experiment 3 --experiment 7 --response wall_time --threshold 0.05 --seed 12345 "
        "--where 'package=a b' --series"
    )
    assert spell_command([3, 7], AskedComparison()) == "datamill compare --experiment 3 --experiment 7"
