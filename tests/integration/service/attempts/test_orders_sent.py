"""Orders on their way: sent again until they were heard, with the receipts that they owe."""

from __future__ import annotations

import msgspec
import pytest
from integration.service.fleets import (
    LATER_S,
    START_S,
    hello,
    join,
    lease_one,
    list_leases,
    say,
    send_orders,
    submit,
)

from datamill.protocol.fleet import (
    GaveUp,
    Orders,
    Session,
)
from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.messages.orders import (
    list_unsent_orders,
    mark_all_orders_unsent,
    mark_orders_sent,
)
from datamill.service.coordinator.presence.deadlines import expire_leases


@pytest.mark.usefixtures("memory_database")
def test_all_orders_are_sent_again_to_a_broker_that_forgot_them() -> None:
    worker_id, lease = lease_one()
    assert send_orders() == {}
    mark_all_orders_unsent()
    assert list_leases()[worker_id] == lease


@pytest.mark.usefixtures("memory_database")
def test_orders_that_changed_while_they_were_sent_are_sent_again() -> None:
    worker_id = join().worker_id
    before = list_unsent_orders(10, START_S)
    submit([worker_id])
    lease_trials(START_S)
    mark_orders_sent(before, START_S)
    (after,) = list_unsent_orders(10, START_S)
    assert after.sequence > before[0].sequence
    mark_orders_sent([after], START_S)
    assert list_unsent_orders(10, START_S) == []


@pytest.mark.usefixtures("memory_database")
def test_orders_give_no_receipt_for_the_attempt_that_they_lease() -> None:
    worker_id = join().worker_id
    experiment = submit([worker_id], trials=1)
    # Told before it was leased: by a worker of a database that was put back, or by one that guesses.
    say(worker_id, GaveUp(f"{experiment}.t001.1", "whatever it was"))
    assert send_orders()[worker_id].receipts == (f"{experiment}.t001.1",)
    lease_trials(START_S)
    orders = send_orders()[worker_id]
    assert orders.lease is not None
    assert orders.lease.attempt == f"{experiment}.t001.1"
    assert orders.receipts == ()


@pytest.mark.usefixtures("database")
def test_orders_ask_a_silent_worker_for_a_hello_until_it_is_heard() -> None:
    worker_id, lease = lease_one()
    session = Session(1, "ab" * 8)
    say(worker_id, msgspec.structs.replace(hello(), session=session))
    assert send_orders()[worker_id].sessions == (session.id,)
    expire_leases(LATER_S)
    # Whatever it has to say of the attempt that it lost, it may have nothing to say at all.
    (unsent,) = list_unsent_orders(10, LATER_S)
    orders = msgspec.json.decode(unsent.payload, type=Orders)
    assert (orders.lease, orders.sessions) == (None, ())
    mark_orders_sent([unsent], LATER_S)
    (again,) = list_unsent_orders(10, LATER_S, [worker_id])
    assert again.is_again
    assert again.payload == unsent.payload
    say(worker_id, msgspec.structs.replace(hello(), session=session), LATER_S)
    assert send_orders(LATER_S)[worker_id].sessions == (session.id,)
    assert list_unsent_orders(10, LATER_S, [worker_id]) == []
    assert lease.attempt == "1.t001.1"
