"""Machines divide their time by shares: dispatch, accounts, guards, old databases, who may change what."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from integration.service.api_users import ApiUser
from integration.service.fleets import (
    START_S,
    fail_record,
    join,
    list_leases,
    make_user,
    say,
    submit,
    tell_record,
)

from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.sharing.shares import set_priority, set_share
from datamill.service.coordinator.sharing.waiting import LONGEST_BLOCK_S
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import (
    Attempt,
    Event,
    ExperimentTime,
    FleetExperiment,
    FleetWorker,
    Trial,
    UserShare,
    UserTime,
)
from datamill.service.queue.queue_state import describe_queue


def serve(
    worker_id: str, turns: int, lengths: dict[int, float], now_s: float = START_S
) -> tuple[list[int], float]:
    """Let a worker make trials, each as long as those of its experiment are; return whose they were."""
    served = []
    for _ in range(turns):
        step(now_s)
        lease = list_leases(now_s)[worker_id]
        number = int(lease.attempt.partition(".")[0])
        served.append(number)
        now_s += lengths[number]
        say(worker_id, tell_record(lease), now_s)
    return served, now_s


def make_two(worker_id: str, **options: object) -> tuple[int, int]:
    """A long experiment of Grace's, and one of Kurt's that came later."""
    return (
        submit([worker_id], owner="grace", **options),  # type: ignore[arg-type]
        submit([worker_id], owner="kurt", **options),  # type: ignore[arg-type]
    )


@pytest.mark.usefixtures("database")
def test_machine_time_is_divided_and_what_each_had_is_kept() -> None:
    worker_id = join().worker_id
    grace, kurt = make_two(worker_id)
    served, now_s = serve(worker_id, 6, {grace: 300.0, kurt: 100.0})
    # A turn of 300 s of the one makes up for three of 100 s of the other.
    assert served == [grace, kurt, kurt, kurt, grace, kurt]
    used = dict(UserTime.objects.values_list("user__username", "held_s"))
    assert used == {"grace": 600.0, "kurt": 400.0}
    assert dict(ExperimentTime.objects.values_list("experiment_id", "attempts")) == {grace: 2, kurt: 4}
    queue = describe_queue(make_user("kurt"), now_s)
    told = {user.user: user for user in queue.users}
    assert told["kurt"].promised == 0.5
    assert abs(told["kurt"].promised_s - told["kurt"].received_s) <= 300.0
    assert not find_violations()


@pytest.mark.usefixtures("database")
def test_an_administrator_gives_a_larger_share_and_an_owner_a_priority() -> None:
    worker_id = join().worker_id
    grace, kurt = make_two(worker_id)
    set_share(make_user("kurt"), 3.0, make_user("ada"), START_S)
    served, now_s = serve(worker_id, 8, {grace: 60.0, kurt: 60.0})
    assert served.count(kurt) == 6
    other = submit([worker_id], now_s, owner="grace")
    set_priority(other, 10.0, make_user("grace"), now_s)
    served, _ = serve(worker_id, 7, {grace: 60.0, kurt: 60.0, other: 60.0}, now_s)
    assert other in served
    assert [event.detail for event in Event.objects.filter(kind="share set")] == ["kurt has the share 3"]


@pytest.mark.usefixtures("database")
def test_who_lends_a_machine_gets_more_of_all() -> None:
    worker_id = join(owner="grace").worker_id
    grace, kurt = make_two(worker_id)
    served, _ = serve(worker_id, 9, {grace: 60.0, kurt: 60.0})
    assert (served.count(grace), served.count(kurt)) == (6, 3)


@pytest.mark.usefixtures("database")
def test_an_attempt_that_failed_held_the_machine_as_well() -> None:
    worker_id = join().worker_id
    grace, _ = make_two(worker_id)
    step(START_S)
    lease = list_leases()[worker_id]
    say(worker_id, tell_record(lease, fail_record(lease, "spawn_failed")), START_S + 50.0)
    assert dict(UserTime.objects.values_list("user__username", "held_s")) == {"grace": 50.0}
    assert Attempt.objects.get(trial__experiment=grace, number=1).held_s == 50.0


@pytest.mark.usefixtures("database")
def test_a_block_is_one_turn_and_one_that_was_interrupted_reboots_again() -> None:
    worker_id = join().worker_id
    grace, kurt = make_two(worker_id, reboot="block", block_trials=4)
    served, now_s = serve(worker_id, 8, {grace: 60.0, kurt: 60.0})
    assert served == [grace] * 4 + [kurt] * 4
    # A block that takes too long lets others in between, and goes on after a reboot.
    served, now_s = serve(worker_id, 1, {grace: LONGEST_BLOCK_S, kurt: LONGEST_BLOCK_S}, now_s)
    assert served == [grace]
    served, now_s = serve(worker_id, 4, {grace: 60.0, kurt: 60.0}, now_s)
    assert served == [kurt] * 4
    step(now_s)
    (lease,) = list_leases(now_s).values()
    assert lease.attempt.startswith(f"{grace}.")
    assert lease.reboot


@pytest.mark.usefixtures("database")
def test_the_database_refuses_shares_that_starve_and_time_that_is_taken_back() -> None:
    worker_id = join().worker_id
    grace, kurt = make_two(worker_id)
    serve(worker_id, 2, {grace: 60.0, kurt: 60.0})
    for change in (
        lambda: UserShare.objects.create(user=make_user("grace"), share=0.0),
        lambda: FleetExperiment.objects.filter(pk=grace).update(priority=11.0),
        lambda: UserTime.objects.update(held_s=1.0),
        lambda: ExperimentTime.objects.update(virtual_s=0.0),
        lambda: Attempt.objects.update(held_s=1.0),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


@pytest.mark.usefixtures("database")
def test_a_database_of_before_there_were_shares_goes_on_in_the_middle_of_a_trial() -> None:
    worker_id = join().worker_id
    grace, kurt = make_two(worker_id)
    step(START_S)
    lease = list_leases()[worker_id]
    try:
        call_command("migrate", "datamill", "0010_looks", verbosity=0)
    finally:
        call_command("migrate", "datamill", verbosity=0)
    assert Attempt.objects.get().start_s is None
    say(worker_id, tell_record(lease), START_S + 60.0)
    served, _ = serve(worker_id, 3, {grace: 60.0, kurt: 60.0}, START_S + 60.0)
    assert served == [kurt, grace, kurt]
    assert UserTime.objects.get(user__username="grace").held_s == 120.0
    assert not find_violations()


@pytest.mark.usefixtures("database")
def test_the_api_tells_the_queue_and_lets_no_one_else_change_it() -> None:
    ada, grace, kurt = ApiUser("ada", admin=True), ApiUser("grace"), ApiUser("kurt")
    worker_id = join().worker_id
    first, second = make_two(worker_id)
    lease_trials(START_S)
    status, told = kurt.get("/queue")
    assert status == 200
    assert [(item["experiment"], item["name"]) for item in told["experiments"]] == [
        (first, ""), (second, "xz-vs-bzip2"),
    ]  # fmt: skip
    assert [item["waits_for"] for item in told["experiments"]] == ["its turn", "its turn"]
    assert [item["begins_s"] for item in told["experiments"]] == [0.0, None]
    assert {item["user"]: item["promised"] for item in told["users"]} == {"grace": 0.5, "kurt": 0.5}
    assert kurt.post("/users/kurt/share", {"share": 50.0})[0] == 403
    assert kurt.post(f"/experiments/{first}/priority", {"priority": 0.1})[0] == 404
    assert ada.post("/users/kurt/share", {"share": 0.0})[0] == 422
    assert ada.post("/users/nobody/share", {"share": 2.0})[0] == 404
    assert ada.post("/users/kurt/share", {"share": 3.0})[1]["own_share"] == 3.0
    assert grace.post(f"/experiments/{first}/priority", {"priority": 2.0})[1]["priority"] == 2.0
    assert {item["user"]: item["promised"] for item in kurt.get("/queue")[1]["users"]} == {
        "grace": 0.25, "kurt": 0.75,
    }  # fmt: skip
    assert FleetWorker.objects.count() == 1
    assert Trial.objects.filter(state="leased").count() == 1
