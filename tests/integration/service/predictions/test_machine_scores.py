"""Scores of machines, from the experiments with the fingerprint suite that a user may read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from integration.service.api_users import ApiUser, make_package
from integration.service.predictions.fingerprinted_fleet import (
    MEMBERS,
    FingerprintedFleet,
    pack_member,
    take_time,
    write_text,
)

from datamill.packing.fingerprint_suite import digest_suite
from datamill.service.answers.elsewhere import machine_scores
from datamill.verbs.inputs.scores import read_scores

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")
TWO = ("m0", "m1")
FEW = ("int-sort", "memory-chase")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """Numbers of experiments begin anew in each test."""
    machine_scores._kept.clear()


def run_members(fleet: FingerprintedFleet, members: tuple[str, ...] = FEW, **options: Any) -> int:
    text = write_text("fingerprint", members, TWO, **options)
    number = fleet.submit(text, {name: pack_member(name) for name in members})
    fleet.finish()
    return number


def list_scores(user: ApiUser) -> list[dict[str, Any]]:
    status, told = user.get("/scores")
    assert status == 200, told
    return list(told["scores"])


def test_each_machine_and_member_has_all_replicates_as_they_were_measured() -> None:
    fleet = FingerprintedFleet(machines=TWO)
    assert list_scores(fleet.ada) == []
    number = run_members(fleet)
    found = list_scores(fleet.ada)
    assert [(row["machine"], row["benchmark"], row["replicate"]) for row in found] == [
        (machine, member, replicate) for machine in TWO for member in FEW for replicate in (1, 2)
    ]
    for row in found:
        assert row["seconds"] == pytest.approx(take_time(row["benchmark"], row["machine"]), rel=0.05)
        assert row["experiment_id"] == number


def test_the_newest_experiment_of_each_machine_and_member_counts() -> None:
    fleet = FingerprintedFleet(machines=TWO)
    old = run_members(fleet)
    fleet.slower = 2.0
    new = run_members(fleet, FEW[:1], replicates=3)
    found = list_scores(fleet.ada)
    by_member = {member: [row for row in found if row["benchmark"] == member] for member in FEW}
    assert [row["experiment_id"] for row in by_member[FEW[0]]] == [new] * 6
    assert [row["experiment_id"] for row in by_member[FEW[1]]] == [old] * 4
    first = by_member[FEW[0]][0]
    assert first["seconds"] == pytest.approx(2 * take_time(FEW[0], "m0"), rel=0.05)


def test_others_see_scores_of_public_experiments_alone() -> None:
    fleet = FingerprintedFleet(machines=TWO)
    bob = ApiUser("bob")
    run_members(fleet, FEW[:1])
    assert list_scores(bob) == []
    run_members(fleet, FEW[1:], public=True)
    assert {row["benchmark"] for row in list_scores(bob)} == {FEW[1]}
    assert {row["benchmark"] for row in list_scores(fleet.ada)} == set(FEW)


def test_a_package_is_a_member_by_its_content_and_not_by_its_name() -> None:
    fleet = FingerprintedFleet(machines=TWO)
    text = write_text("e", ("int-sort", "app"), TWO)
    fleet.submit(text, {"int-sort": make_package(), "app": pack_member("io-pipe")})
    fleet.finish()
    assert {row["benchmark"] for row in list_scores(fleet.ada)} == {"io-pipe"}


def test_trials_at_levels_that_the_suite_does_not_set_are_no_scores_and_it_is_said() -> None:
    fleet = FingerprintedFleet(machines=TWO)
    number = run_members(fleet, FEW[:1], more='[factors]\naslr = ["on", "off"]\n')
    status, told = fleet.ada.get("/scores")
    assert (status, told["scores"]) == (200, [])
    assert told["warnings"] == [
        f"scores in experiment {number} are left out: it sets aslr, which the suite leaves as machines have "
        "them"
    ]


def test_scores_are_read_again_only_when_trials_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = FingerprintedFleet(machines=TWO)
    made = []
    call = machine_scores.call_bounded

    def count(*arguments: object) -> object:
        made.append(arguments)
        return call(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(machine_scores, "call_bounded", count)
    run_members(fleet, FEW[:1])
    for _ in range(3):
        list_scores(fleet.ada)
    assert len(made) == 1
    run_members(fleet, FEW[1:])
    list_scores(fleet.ada)
    assert len(made) == 2


def test_the_table_is_one_that_the_verbs_read(tmp_path: Path) -> None:
    fleet = FingerprintedFleet(machines=TWO)
    run_members(fleet)
    table = fleet.ada.load("/scores.csv")
    columns = ["machine", "benchmark", "replicate", "seconds", "experiment_id"]
    assert pl.read_csv(io.BytesIO(table)).columns == columns
    (tmp_path / "scores.csv").write_bytes(table)
    matrix = read_scores(tmp_path / "scores.csv")
    assert (matrix.machines, matrix.benchmarks, matrix.facts) == (TWO, FEW, {})


def test_all_members_of_the_suite_are_known() -> None:
    assert len(MEMBERS) == 15
    assert sorted(digest_suite().values()) == MEMBERS
