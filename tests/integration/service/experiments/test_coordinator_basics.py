"""The straight way: machines join, an experiment is submitted, leased, reported, and ends."""

from __future__ import annotations

import pytest
from integration.service.fleets import START_S, join, list_leases, say, send_orders, submit, tell_record

from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import FleetExperiment, FleetWorker, Trial


@pytest.mark.usefixtures("database")
def test_an_experiment_runs_to_its_end() -> None:
    workers = [join().worker_id, join().worker_id]
    experiment = submit(workers)
    now_s = START_S
    done = []
    while leases := (lease_trials(now_s), list_leases(now_s))[1]:
        assert find_violations() == []
        for worker_id, lease in leases.items():
            now_s += 1.0
            ingested = say(worker_id, tell_record(lease), now_s)
            assert ingested.worker_ids == {worker_id}
            assert ingested.refused == ()
            done.append(lease.attempt)
        step(now_s)
        assert find_violations() == []
    stored = FleetExperiment.objects.get(pk=experiment)
    assert stored.state == "completed"
    assert sorted(done) == [f"{experiment}.t{number:03d}.1" for number in range(1, 17)]
    assert set(Trial.objects.values_list("state", flat=True)) == {"counted"}


@pytest.mark.usefixtures("database")
def test_orders_say_once_what_to_do_and_which_reports_arrived() -> None:
    worker_id = join().worker_id
    assert send_orders()[worker_id].lease is None
    submit([worker_id])
    step(START_S)
    lease = list_leases()[worker_id]
    assert send_orders() == {}
    assert lease.user == "ada"
    assert lease.spec.levels == {"aslr": "on"}
    assert lease.spec.package.path == ""
    assert [file.sha256 for file in lease.files] == [lease.spec.package.sha256]
    say(worker_id, tell_record(lease))
    orders = send_orders()[worker_id]
    assert orders.receipts == (lease.attempt,)
    assert orders.lease is None
    assert FleetWorker.objects.get().state == "idle"
