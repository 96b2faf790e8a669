"""Doubts about a plan: it shows what `datamill check` says of the same experiment."""

from __future__ import annotations

import pytest
from integration.service.api_users import TEXT, ApiUser, make_submission
from integration.service.fleets import join

from datamill.protocol.offers import FactorOffer

pytestmark = pytest.mark.usefixtures("data_folder", "database")

TWO_LEVELS = '\n[factors]\noptimization = ["-O0", "-O2"]\n'
OFFERS = (FactorOffer("optimization", "build", ("-O0", "-O2")), FactorOffer("aslr", "process", ("on", "off")))
#: The first words of each doubt.
UNBUILT = "optimization changes nothing for p1 and p2, which have no setup.sh"
NO_ERROR = "2 trials leave nothing to estimate the error from"
ONE_REPLICATE = "one replicate shows no error: effects are judged by Lenth's method"


def list_doubts(text: str, **package: bool) -> list[str]:
    """Which of these doubts are shown before an experiment is submitted."""
    ada = ApiUser("ada")
    join("lab-1", factors=OFFERS)
    body = make_submission(ada.user, text)
    for item in body["packages"]:
        item |= package
    status, plan = ada.post("/experiments/plan", body)
    assert status == 200, plan
    return [
        doubt
        for doubt in (UNBUILT, NO_ERROR, ONE_REPLICATE)
        if any(warning.startswith(doubt) for warning in plan["warnings"])
    ]


def test_a_plan_of_which_nothing_is_doubtful_shows_no_doubt() -> None:
    assert list_doubts(TEXT + TWO_LEVELS, has_setup=True) == []


def test_a_plan_says_that_a_factor_changes_nothing_for_packages_that_are_not_built() -> None:
    assert list_doubts(TEXT + TWO_LEVELS) == [UNBUILT]


def test_a_plan_says_that_there_will_be_no_intervals() -> None:
    assert list_doubts(TEXT.replace("replicates = 2", "replicates = 1")) == [NO_ERROR]


def test_a_plan_says_how_a_screening_of_one_replicate_is_judged() -> None:
    screening = TEXT.replace("replicates = 2", 'design = "screening"')
    assert ONE_REPLICATE in list_doubts(screening + '\n[factors]\naslr = ["on", "off"]\n')
