"""Machines join with tokens that work once, and leave."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from integration.service.fleets import (
    START_S,
    hello,
    join,
    make_inventory,
    make_public_key,
    make_user,
    report,
    say,
)

from datamill.experiment.errors import InputError
from datamill.protocol.fleet import CacheFacts, CompilerVersion, EnrolmentRequest, Policy
from datamill.service.coordinator.joining import enrolment
from datamill.service.coordinator.joining.credentials import (
    is_half_over,
    list_void_credentials,
    note_credential,
)
from datamill.service.coordinator.joining.enrolment import enrol_worker, make_token
from datamill.service.coordinator.joining.hardware import describe_candidate, list_hardware_levels
from datamill.service.coordinator.messages.floods import FLOOD, judge_crowds, judge_floods
from datamill.service.coordinator.messages.ingest import ReceivedReport, ingest_reports
from datamill.service.coordinator.presence.members import drain_worker, remove_worker, resume_worker
from datamill.service.models import EnrolmentToken, Event, FleetWorker


def ask(token: str, number: int = 1, name: str = "lab", **changes: Any) -> EnrolmentRequest:
    inventory = make_inventory(name, **changes)
    return EnrolmentRequest(token, name, make_public_key(number), inventory, Policy())


@pytest.mark.usefixtures("database")
def test_a_machine_that_joins_has_an_identity_and_a_level_in_each_dimension() -> None:
    token = make_token(make_user(), START_S, 60.0)
    enrolled = enrol_worker(ask(token), START_S + 59.0)
    worker = FleetWorker.objects.get()
    assert worker.worker_id == enrolled.worker_id
    assert enrolled.worker_id.startswith("w")
    assert len(enrolled.worker_id) == 13
    assert worker.state == "away"
    assert worker.hardware == {
        "arch": "x86_64", "cpu_model": "AMD EPYC", "clock": "2.4 GHz", "cores": "2", "cache": "8 MiB",
        "memory": "8 GiB", "kernel": "6.12.48-amd64", "distribution": "debian 12", "compiler": "gcc 12.2.0",
        "machine": "lab",
    }  # fmt: skip
    assert Event.objects.get().kind == "worker joined"
    say(enrolled.worker_id, hello(name="lab"), START_S + 60.0)
    assert FleetWorker.objects.get().state == "idle"
    assert not Event.objects.filter(kind="worker heard again").exists()
    assert token not in str(EnrolmentToken.objects.values())
    assert enrolled.api_key not in str(FleetWorker.objects.values())


@pytest.mark.usefixtures("database")
def test_a_token_lets_one_machine_in_once() -> None:
    token = make_token(make_user(), START_S, 60.0)
    enrol_worker(ask(token), START_S)
    with pytest.raises(InputError, match="used already"):
        enrol_worker(ask(token, number=2), START_S)
    assert FleetWorker.objects.count() == 1


@pytest.mark.usefixtures("memory_database")
def test_a_machine_that_lost_the_answer_asks_again_and_is_the_same() -> None:
    token = make_token(make_user(), START_S, 60.0)
    first = enrol_worker(ask(token), START_S)
    again = enrol_worker(ask(token), START_S + 1.0)
    assert (again.worker_id, again.name) == (first.worker_id, first.name)
    assert again.api_key != first.api_key


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_flooded_does_not_come_back_by_its_token() -> None:
    token = make_token(make_user(), START_S, 600.0)
    enrolled = enrol_worker(ask(token), START_S)
    note_credential(enrolled.worker_id, START_S)
    judge_floods({enrolled.worker_id: FLOOD}, START_S + 1.0)
    with pytest.raises(InputError, match="drained: it floods"):
        enrol_worker(ask(token), START_S + 2.0)


@pytest.mark.usefixtures("memory_database")
def test_a_credential_that_a_drained_worker_has_got_nevertheless_is_void_when_it_floods_again() -> None:
    enrolled = enrol_worker(ask(make_token(make_user(), START_S, 600.0)), START_S)
    for time_s in (START_S, START_S + 100.0):
        note_credential(enrolled.worker_id, time_s)
        judge_floods({enrolled.worker_id: FLOOD}, time_s + 1.0)
        assert list(list_void_credentials().values()) == [time_s + 1.0]


@pytest.mark.usefixtures("memory_database")
def test_a_credential_of_a_worker_resumed_in_the_second_in_which_it_was_voided_is_valid() -> None:
    owner = make_user()
    enrolled = enrol_worker(ask(make_token(owner, START_S, 600.0)), START_S)
    note_credential(enrolled.worker_id, START_S)
    judge_floods({enrolled.worker_id: FLOOD}, START_S + 1.25)
    resume_worker("lab", owner, START_S + 1.5)
    made_s = note_credential(enrolled.worker_id, START_S + 1.75)
    # The broker compares whole seconds, and takes an equal one for void.
    (void_s,) = list_void_credentials().values()
    assert int(made_s) > int(void_s)
    assert not is_half_over(made_s, START_S + 1.8)


@pytest.mark.usefixtures("memory_database")
def test_what_a_refused_worker_left_behind_does_not_void_its_next_credential() -> None:
    owner = make_user()
    enrolled = enrol_worker(ask(make_token(owner, START_S, 600.0)), START_S)
    note_credential(enrolled.worker_id, START_S)
    judge_floods({enrolled.worker_id: FLOOD}, START_S + 1.0)
    void = list_void_credentials()
    judge_crowds({FleetWorker.objects.get().public_key: 99}, START_S + 2.0)
    assert list_void_credentials() == void
    resume_worker("lab", owner, START_S + 3.0)
    judge_floods({enrolled.worker_id: FLOOD}, START_S + 4.0)
    assert list_void_credentials() == void
    assert FleetWorker.objects.get().state != "drained"


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize("change", ["clock_khz", "clock_unix_ns", "free_disk_bytes"])
def test_numbers_that_no_machine_has_are_refused(change: str) -> None:
    token = make_token(make_user(), START_S, 600.0)
    with pytest.raises(InputError, match="more than 63 bits"):
        enrol_worker(ask(token, **{change: 10**400}), START_S)
    worker_id = enrol_worker(ask(token), START_S).worker_id
    mark = (1 << 61) + 7
    sent = report(worker_id, hello(name="lab", **{change: mark}))
    told = sent.payload.replace(str(mark).encode(), b"1" + b"0" * 400)
    kept = bytes(FleetWorker.objects.get().inventory)
    assert ingest_reports([ReceivedReport(worker_id, told)], START_S + 1.0).refused
    assert bytes(FleetWorker.objects.get().inventory) == kept


@pytest.mark.usefixtures("memory_database")
def test_a_token_of_an_account_that_was_closed_lets_nobody_in() -> None:
    owner = make_user()
    token = make_token(owner, START_S, 600.0)
    owner.is_active = False
    owner.save()
    with pytest.raises(InputError, match="unknown"):
        enrol_worker(ask(token), START_S)


@pytest.mark.usefixtures("memory_database")
def test_a_user_has_no_more_tokens_and_machines_than_a_lab_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolment, "MOST_TOKENS", 3)
    monkeypatch.setattr(enrolment, "MOST_MACHINES", 2)
    owner = make_user()
    tokens = [make_token(owner, START_S, 60.0) for _ in range(3)]
    with pytest.raises(InputError, match="3 of your tokens are not used"):
        make_token(owner, START_S, 60.0)
    for number in (1, 2):
        enrol_worker(ask(tokens[number], number, f"lab{number}"), START_S)
    with pytest.raises(InputError, match="has 2 machines"):
        enrol_worker(ask(tokens[0], 3, "lab3"), START_S)
    make_token(owner, START_S, 60.0)


@pytest.mark.usefixtures("memory_database")
def test_an_expired_or_unknown_token_lets_nobody_in() -> None:
    token = make_token(make_user(), START_S, 60.0)
    with pytest.raises(InputError, match="expired"):
        enrol_worker(ask(token), START_S + 60.0)
    with pytest.raises(InputError, match="unknown"):
        enrol_worker(ask("guess"), START_S)
    assert not FleetWorker.objects.exists()


@pytest.mark.usefixtures("memory_database")
def test_two_machines_cannot_have_one_identity() -> None:
    owner = make_user()
    enrol_worker(ask(make_token(owner, START_S, 60.0)), START_S)
    with pytest.raises(InputError, match="identity is in the fleet already"):
        enrol_worker(ask(make_token(owner, START_S, 60.0), name="copy"), START_S)


@pytest.mark.usefixtures("memory_database")
def test_a_name_that_is_taken_gets_a_number() -> None:
    assert [join("lab one!").name for _ in range(3)] == ["lab-one", "lab-one-2", "lab-one-3"]


@pytest.mark.usefixtures("memory_database")
@pytest.mark.parametrize(
    ("changes", "older"),
    [
        ({"schema": 0}, "worker"),
        ({"schema": 99}, "coordinator"),
        ({"trial_schema": 0}, "worker"),
        ({"trial_schema": 99}, "coordinator"),
    ],
)
def test_versions_that_are_not_shared_are_refused_by_name(changes: dict[str, int], older: str) -> None:
    token = make_token(make_user(), START_S, 60.0)
    with pytest.raises(InputError, match="speaks version") as caught:
        enrol_worker(ask(token, **changes), START_S)
    assert f"newer {older}" in caught.value.remedy
    assert EnrolmentToken.objects.get().used_unix_s is None


@pytest.mark.usefixtures("memory_database")
def test_a_clock_that_is_a_day_off_is_told_and_nothing_else() -> None:
    token = make_token(make_user(), START_S, 60.0)
    enrolled = enrol_worker(ask(token, clock_unix_ns=int((START_S + 86400) * 1e9)), START_S)
    event = Event.objects.get(kind="clock off")
    assert event.detail == "Its clock is 86\u202f400 s ahead of the coordinator's."
    for _ in range(2):
        ingest_reports([report(enrolled.worker_id, hello(), clock_s=START_S - 86400)], START_S)
    assert Event.objects.filter(kind="clock off").count() == 1
    assert FleetWorker.objects.get().state == "idle"


def test_what_a_machine_cannot_tell_is_unknown() -> None:
    levels = list_hardware_levels(make_inventory(clock_khz=None, caches=(), compilers=()))
    assert (levels["clock"], levels["cache"], levels["compiler"]) == ("unknown", "unknown", "none")


@pytest.mark.parametrize(
    ("size_bytes", "level"),
    [(25276510208, "24 GiB"), (16_500_000_000, "16 GiB"), (8 << 30, "8 GiB"), (512 << 20, "512 MiB")],
)
def test_memory_is_rounded_as_modules_are_sold(size_bytes: int, level: str) -> None:
    assert list_hardware_levels(make_inventory(memory_bytes=size_bytes))["memory"] == level


def test_the_largest_cache_and_gcc_stand_for_their_kind() -> None:
    inventory = make_inventory(
        caches=(CacheFacts(2, "Unified", 512 << 10), CacheFacts(1, "Data", 32 << 10)),
        compilers=(CompilerVersion("clang", "16.0.6"), CompilerVersion("gcc", "12.2.0")),
    )
    levels = list_hardware_levels(inventory)
    assert (levels["cache"], levels["compiler"]) == ("512 KiB", "gcc 12.2.0")


@pytest.mark.usefixtures("memory_database")
def test_a_candidate_offers_what_its_owner_does_not_forbid() -> None:
    free = join().worker_id
    bound = join(policy=Policy(forbidden_factors=("aslr",))).worker_id
    assert "aslr" in describe_candidate(FleetWorker.objects.get(pk=free), 0.0).offers
    candidate = describe_candidate(FleetWorker.objects.get(pk=bound), 12.0)
    assert "aslr" not in candidate.offers
    assert (candidate.cores, candidate.clock_khz, candidate.free_s) == (2, 2_400_000, 12.0)
    assert not candidate.reboot


@pytest.mark.usefixtures("memory_database")
def test_a_hello_tells_what_changed_of_the_machine() -> None:
    worker = join("lab")
    say(worker.worker_id, hello(hostname="lab", kernel="6.13"))
    stored = FleetWorker.objects.get()
    assert stored.hardware["kernel"] == "6.13"
    assert stored.hardware["machine"] == "lab"
    assert "kernel: 6.12.48-amd64 before, 6.13 now" in Event.objects.get(kind="worker changed").detail


@pytest.mark.usefixtures("memory_database")
def test_a_worker_that_comes_back_with_a_newer_version_gets_no_trials() -> None:
    worker = join()
    say(worker.worker_id, hello(trial_schema=99))
    stored = FleetWorker.objects.get()
    assert stored.state == "drained"
    assert "version 99 of the trial records" in stored.state_reason


@pytest.mark.usefixtures("memory_database")
def test_only_owners_and_administrators_drain_resume_and_remove() -> None:
    worker = join(owner="ada")
    with pytest.raises(InputError, match="another user's"):
        drain_worker(worker.name, make_user("eve"), START_S)
    drain_worker(worker.name, make_user("ada"), START_S)
    resume_worker(worker.name, make_user("root", staff=True), START_S)
    remove_worker(worker.name, make_user("ada"), START_S)
    assert FleetWorker.objects.get().state == "removed"
    with pytest.raises(InputError, match="was removed"):
        resume_worker(worker.name, make_user("ada"), START_S)
    with pytest.raises(InputError, match="no worker"):
        drain_worker("nobody", make_user("ada"), START_S)
    kinds = list(Event.objects.order_by("id").values_list("kind", "user"))
    assert kinds[1:] == [("worker drained", "ada"), ("worker resumed", "root"), ("worker removed", "ada")]


@pytest.mark.usefixtures("memory_database")
def test_a_removed_worker_has_no_credential_and_is_not_heard() -> None:
    worker = join()
    before = FleetWorker.objects.get().api_key_sha256
    remove_worker(worker.name, make_user("ada"), START_S)
    assert FleetWorker.objects.get().api_key_sha256 != before
    result = say(worker.worker_id, hello())
    assert result.refused == (f"{worker.worker_id}: it was removed from the fleet",)
    assert FleetWorker.objects.get().state == "removed"


@pytest.mark.usefixtures("database")
def test_what_a_machine_says_of_itself_cannot_break_the_database() -> None:
    inventory = make_inventory("\x00", kernel="6\x00" + "k" * 300, boot_id="b" * 300)
    token = make_token(make_user(), START_S, 60.0)
    request = EnrolmentRequest(token, "\x00\x00", make_public_key(5), inventory, Policy())
    enrolled = enrol_worker(msgspec.json.decode(msgspec.json.encode(request), type=EnrolmentRequest), START_S)
    assert enrolled.name == "worker"
    assert FleetWorker.objects.get().hardware["kernel"].startswith("6\N{REPLACEMENT CHARACTER}")
