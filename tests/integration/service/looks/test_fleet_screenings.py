"""`screen = "auto"` on a fleet: a screening first, then by itself the experiment with what survived."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import (
    START_S,
    join,
    list_leases,
    make_phase,
    make_record,
    say,
    tell_record,
)

import datamill
from datamill.protocol.offers import FactorOffer
from datamill.results.bundles.bundle_files import write_folder
from datamill.results.judgement.screened import ScreenedFirst
from datamill.service.bundles.export import prepare_bundle
from datamill.service.coordinator.experiments.follow_ups import list_due_follow_ups
from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.step import step
from datamill.service.models import Event, FleetExperiment, FleetWorker
from datamill.service.submissions.following import follow_up
from datamill.service.watching import feed
from datamill.service.watching.feed import ExperimentReader

pytestmark = pytest.mark.usefixtures("data_folder")

TEXT = """
[experiment]
name = "sorts"
question = "How fast does it sort?"
screen = "auto"
replicates = 3

[[package]]
name = "p1"
path = "p1"

[[package]]
name = "p2"
path = "p2"

[coverage]
machine = "100%"

[fleet]
reboot = "never"
debug = "never"
"""
OFFERS = (
    FactorOffer("aslr", "process", ("on", "off")),
    FactorOffer("env_padding", "process", ("0", "10928")),
    FactorOffer("stack_limit", "process", ("default", "unlimited")),
    FactorOffer("ksm", "host", ("off", "on")),
)


def run_all(effect: float, seed: int = 3) -> None:
    """Answer all that is leased: `env_padding` slows trials by this share."""
    noise = random.Random(seed)
    while True:
        step(START_S)
        leases = list_leases(START_S)
        if not leases:
            return
        for worker_id, lease in leases.items():
            slow = 1 + effect * (lease.spec.levels.get("env_padding") == "10928")
            wall_ns = int(1e6 * slow * noise.lognormvariate(0.0, 0.01))
            record = make_record(lease, run=make_phase(wall_time_ns=wall_ns), ended_unix_ns=1 + wall_ns)
            say(worker_id, tell_record(lease, record), START_S)


def submit(text: str = TEXT) -> tuple[ApiUser, dict[str, object]]:
    ada = ApiUser("ada")
    for name in ("left", "right"):
        join(name, factors=OFFERS)
    status, submitted = ada.post("/experiments", make_submission(ada.user, text))
    assert status == 200, submitted
    return ada, submitted


@pytest.mark.usefixtures("database")
def test_survivors_of_the_screening_enter_the_experiment_that_follows_by_itself(tmp_path: Path) -> None:
    _, submitted = submit()
    assert submitted["name"] == "sorts-screening"
    assert "this is the screening that comes first" in submitted["warnings"][0]  # type: ignore[index]
    assert {item["name"] for item in submitted["factors"]} == {  # type: ignore[attr-defined]
        "package", "machine", *(offer.name for offer in OFFERS),
    }  # fmt: skip
    run_all(0.2)
    first = FleetExperiment.objects.get()
    assert first.state == "completed"
    assert list_due_follow_ups() == [first.pk]
    follow_up(first.pk)
    assert list_due_follow_ups() == []
    first.refresh_from_db()
    main = FleetExperiment.objects.exclude(pk=first.pk).get()
    assert first.state_reason == f"experiment {main.pk} follows, with 1 factor that survived"
    assert Event.objects.filter(kind="screening followed", experiment_id=first.pk).count() == 1
    # Coming twice, as after a crash of the coordinator, it changes nothing.
    follow_up(first.pk)
    assert FleetExperiment.objects.count() == 2
    run_all(0.2)
    main.refresh_from_db()
    assert main.state == "completed"
    assert find_violations() == []
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "packages").mkdir()
    prepared = prepare_bundle(main, START_S)
    with prepared.resources:
        write_folder(prepared.first, tmp_path / "bundle")
    said = json.loads(datamill.answer(tmp_path / "bundle").json())
    crossed = said["design"]["factors"]
    assert "env_padding" in json.dumps(crossed)
    screened = said["screened_first"]
    assert screened["bundle"] == f"experiment {first.pk}"
    assert screened["machines"] == 2
    survivors = [item["factor"] for item in screened["factors"] if item["survives"]]
    assert survivors == ["env_padding"]
    assert any("A screening of 4 hidden factors came first" in line for line in said["answer"])
    assert any("may have missed" in line for line in said["answer"])


@pytest.mark.usefixtures("memory_database")
def test_where_nothing_survives_the_experiment_is_as_it_was_submitted() -> None:
    submit()
    run_all(0.0)
    first = FleetExperiment.objects.get()
    follow_up(first.pk)
    main = FleetExperiment.objects.exclude(pk=first.pk).get()
    screened = main.screened
    assert screened is not None
    found = json.loads(bytes(screened))
    assert not any(item["survives"] for item in found["factors"])
    assert set(found) == set(ScreenedFirst.__struct_fields__)
    assert "vary" not in main.text.split("[nuisance", 1)[1]


@pytest.mark.usefixtures("memory_database")
def test_who_watches_a_screening_is_told_which_experiment_follows_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit()
    run_all(0.0)
    first = FleetExperiment.objects.get()
    reader = ExperimentReader(first.pk)
    assert first.state == "completed"
    monkeypatch.setattr(feed.time, "time", lambda: START_S + 1)
    assert reader.look(None).end == b""
    # What follows may be entered while somebody looks: it is told then, or at the next look.
    with monkeypatch.context() as patched:
        count = feed.count_progress
        patched.setattr(feed, "count_progress", lambda *asked: (follow_up(first.pk), count(*asked))[1])
        assert reader.look(None).end == b""
    assert b"none of the screened factors varies in it" in reader.look(None).end


@pytest.mark.usefixtures("memory_database")
def test_who_watches_a_screening_that_nothing_follows_is_not_kept_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit()
    run_all(0.0)
    reader = ExperimentReader(FleetExperiment.objects.get().pk)
    monkeypatch.setattr(feed.time, "time", lambda: START_S + 3600)
    assert b"completed" in reader.look(None).end


@pytest.mark.usefixtures("memory_database")
def test_a_screening_whose_experiment_cannot_be_begun_says_why() -> None:
    submit()
    run_all(0.2)
    first = FleetExperiment.objects.get()
    FleetWorker.objects.update(state="drained", state_reason="its disk is full")
    follow_up(first.pk)
    first.refresh_from_db()
    assert "could not be begun" in first.state_reason
    assert list_due_follow_ups() == []


@pytest.mark.usefixtures("memory_database")
def test_an_experiment_that_could_not_follow_is_refused_before_its_screening() -> None:
    ada = ApiUser("ada")
    for name in ("left", "right"):
        join(name, factors=OFFERS)
    text = TEXT.replace("replicates = 3\n", "").replace(
        "[coverage]",
        '[replication]\nexecutions = 2\nuntil = { half_width = "1%" }\nmax_trials = 50\n[coverage]',
    )
    status, refused = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert status == 400
    assert "leaves no room for the rule" in refused["message"]
