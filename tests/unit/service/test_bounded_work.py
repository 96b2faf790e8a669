"""Turns of users, and calls in processes of their own that take no more than they may."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, speak_command_line, tell
from datamill.service.bounded_work.calls import Calls
from datamill.service.bounded_work.child import Budget
from datamill.service.bounded_work.departures import Departure
from datamill.service.bounded_work.turns import BusyError, GoneError, Turns, WorkLimits

BUDGET = Budget(memory_bytes=256 << 20, cpu_s=5, elapsed_s=120.0, remedy="Ask for less.")
SMALL = WorkLimits(working=2, working_each=1, waiting=3, waiting_each=2, longest_wait_s=30.0)


def take_in_thread(
    turns: Turns, user: str, done: list[str], departure: Departure | None = None
) -> threading.Thread:
    """Take a turn in a thread that notes its user and gives it back at once."""

    def work() -> None:
        try:
            with turns.take(user, departure or Departure()):
                done.append(user)
        except InputError as problem:
            done.append(f"{user}: {type(problem).__name__}")

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def await_waiting(turns: Turns, user: str, count: int) -> None:
    """Wait until so many requests of a user wait for a turn."""
    deadline_s = time.monotonic() + 60
    while len(turns._waiting.get(user, ())) != count:
        assert time.monotonic() < deadline_s, "they never waited"
        time.sleep(0.01)


def test_a_user_waits_for_their_own_work_and_not_for_that_of_others() -> None:
    turns, done = Turns(SMALL), list[str]()
    with turns.take("ada", Departure()):
        waiting = take_in_thread(turns, "ada", done)
        await_waiting(turns, "ada", 1)
        with turns.take("bob", Departure()):
            assert done == []
    waiting.join()
    assert done == ["ada"]


def test_whoever_was_served_longest_ago_is_next() -> None:
    turns, done = Turns(WorkLimits(1, 1, 10, 5, 30.0)), list[str]()
    threads = []
    with turns.take("eve", Departure()):
        for user, count in (("ada", 1), ("ada", 2), ("ada", 3), ("bob", 1)):
            threads.append(take_in_thread(turns, user, done))
            await_waiting(turns, user, count)
    for thread in threads:
        thread.join()
    assert done == ["ada", "bob", "ada", "ada"]


def test_who_has_too_much_waiting_is_told_to_come_again() -> None:
    turns = Turns(SMALL)
    done: list[str] = []
    with turns.take("ada", Departure()):
        threads = [take_in_thread(turns, "ada", done) for _ in range(2)]
        await_waiting(turns, "ada", 2)
        with pytest.raises(BusyError, match="3 of your requests") as refused, turns.take("ada", Departure()):
            pass
        assert "5 seconds" in refused.value.remedy
        with turns.take("bob", Departure()):
            pass
    for thread in threads:
        thread.join()


def test_nobody_waits_without_end_or_for_a_client_that_left() -> None:
    turns = Turns(WorkLimits(1, 1, 10, 5, longest_wait_s=0.3))
    done: list[str] = []
    gone = Departure()
    with turns.take("eve", Departure()):
        gone.note()
        left = take_in_thread(turns, "bob", done, gone)
        left.join()
        with pytest.raises(BusyError, match="busy"), turns.take("ada", Departure()):
            pass
    assert done == ["bob: GoneError"]
    # Neither of them keeps a place.
    with turns.take("eve", Departure()):
        pass


def test_work_begins_no_faster_than_the_coordinator_passes_answers_on() -> None:
    turns, done = Turns(WorkLimits(8, 2, 8, 3, 30.0, between_s=0.05)), list[str]()
    began = time.monotonic()
    threads = [take_in_thread(turns, f"user{number}", done) for number in range(10)]
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 9 * 0.05
    assert sorted(done) == [f"user{number}" for number in range(10)]


def test_free_places_are_open_to_those_who_wait() -> None:
    turns, done = (
        Turns(WorkLimits(3, 1, waiting=1, waiting_each=1, longest_wait_s=30.0, between_s=0.3)),
        list[str](),
    )
    threads = [take_in_thread(turns, f"user{number}", done) for number in range(4)]
    for thread in threads:
        thread.join()
    assert sorted(done) == ["user0", "user1", "user2", "user3"]


def test_and_so_are_those_of_one_user() -> None:
    turns, done = (
        Turns(WorkLimits(4, 2, waiting=8, waiting_each=3, longest_wait_s=30.0, between_s=0.2)),
        list[str](),
    )
    threads = [take_in_thread(turns, "ada", done) for _ in range(5)]
    for thread in threads:
        thread.join()
    assert done == ["ada"] * 5


def test_a_place_is_given_back_when_the_work_fails() -> None:
    turns = Turns(SMALL)
    for _ in range(5):
        with pytest.raises(ValueError, match="no"), turns.take("ada", Departure()):
            raise ValueError("no")
    with ExitStack() as stack:
        stack.enter_context(turns.take("ada", Departure()))
        stack.enter_context(turns.take("bob", Departure()))


@pytest.fixture(scope="module")
def calls() -> Calls:
    return Calls()


def refuse() -> None:
    raise InputError("this is wrong", where="there", remedy="Do that.")


def fill(size: int) -> int:
    return len(bytearray(size))


def spin(seconds: float) -> None:
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        pass


def nest(depth: int) -> int:
    return 1 + nest(depth + 1)


def write_much(path: str) -> None:
    Path(path).write_bytes(bytes(1 << 20))


def test_a_call_returns_what_its_function_returns(calls: Calls) -> None:
    assert calls.run(BUDGET, Departure(), sorted, [3, 1, 2]) == [1, 2, 3]


def test_a_call_takes_only_what_nobody_else_wants(calls: Calls) -> None:
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        pytest.skip("the tests themselves have another scheduling policy")
    assert calls.run(BUDGET, Departure(), os.sched_getscheduler, 0) == os.SCHED_IDLE


def test_so_does_the_process_that_they_are_forked_from(calls: Calls) -> None:
    assert os.sched_getscheduler(calls.run(BUDGET, Departure(), os.getppid)) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) != os.SCHED_IDLE


def test_the_broker_has_the_processor_before_a_call_where_sessions_share_it(calls: Calls) -> None:
    parent = calls.run(BUDGET, Departure(), os.getppid)
    assert os.getsid(parent) == parent
    autogroup = Path(f"/proc/{parent}/autogroup")
    if not autogroup.is_file():
        pytest.skip("the kernel does not share processors out among sessions")
    assert autogroup.read_text().split()[-1] == "10"


def test_what_takes_turns_is_worked_on_by_half_of_the_processors(calls: Calls) -> None:
    in_turn = replace(BUDGET, takes_turns=True)
    departure, waited = Departure(), list[type[BaseException]]()

    def ask() -> None:
        try:
            calls.run(in_turn, departure, int)
        except GoneError as problem:
            waited.append(type(problem))

    places = max(1, len(os.sched_getaffinity(0)) // 2)
    with ExitStack() as stack:
        for _ in range(places):
            stack.enter_context(calls._taking_turn(in_turn, Departure()))
        # What takes no turns goes on, and a client that leaves waits no longer.
        assert calls.run(BUDGET, Departure(), int) == 0
        with pytest.raises(BusyError, match="worked out"):
            calls.run(replace(in_turn, elapsed_s=0.0), Departure(), int)
        thread = threading.Thread(target=ask)
        thread.start()
        departure.note()
        thread.join()
    assert waited == [GoneError]
    assert calls.run(in_turn, Departure(), int) == 0


def test_a_call_raises_what_the_input_made_it_raise(calls: Calls) -> None:
    with pytest.raises(InputError, match="this is wrong") as refused:
        calls.run(BUDGET, Departure(), refuse)
    assert (refused.value.where, refused.value.remedy) == ("there", "Do that.")


@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [(fill, 300 << 20, "256.0 MiB of memory"), (nest, 0, "nested too deep")],
)
def test_a_call_that_takes_too_much_is_refused_with_the_remedy(
    calls: Calls, function: object, argument: int, message: str
) -> None:
    with pytest.raises(InputError, match=message) as refused:
        calls.run(BUDGET, Departure(), function, argument)  # type: ignore[arg-type]
    assert refused.value.remedy == "Ask for less."


@pytest.mark.parametrize("budget", [Budget(64 << 20, 1, 60.0), Budget(64 << 20, 60, 0.5)])
def test_a_call_that_takes_too_long_is_ended(calls: Calls, budget: Budget) -> None:
    with pytest.raises(InputError, match="to work out"):
        calls.run(budget, Departure(), spin, 1000.0)


def test_a_call_ends_when_its_client_leaves(calls: Calls) -> None:
    departure = Departure()
    timer = threading.Timer(0.3, departure.note)
    timer.start()
    began = time.monotonic()
    with pytest.raises(GoneError):
        calls.run(BUDGET, departure, spin, 1000.0)
    assert time.monotonic() - began < 100


def test_a_call_writes_no_more_than_it_may(calls: Calls, tmp_path: Path) -> None:
    path = tmp_path / "much"
    with pytest.raises(InputError, match="on disk"):
        calls.run(BUDGET, Departure(), write_much, str(path))
    assert path.stat().st_size == 0


def test_a_defect_is_not_taken_for_bad_input(calls: Calls) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        calls.run(BUDGET, Departure(), divmod, 1, 0)


def advise() -> str:
    """A note, as analyses make them."""
    return tell(f"a larger {argument('order')}")


def refuse_argument() -> None:
    """Refuse an argument.

    Raises:
        InputError: always.
    """
    raise InputError(f"{argument('order')} is missing")


def test_a_call_notes_options_and_its_refusals_keep_their_arguments(calls: Calls) -> None:
    assert calls.run(BUDGET, Departure(), advise) == "a larger --order"
    with pytest.raises(InputError) as refused:
        calls.run(BUDGET, Departure(), refuse_argument)
    assert str(refused.value) == "order= is missing"
    assert str(refused.value.told(speak_command_line)) == "--order is missing"
