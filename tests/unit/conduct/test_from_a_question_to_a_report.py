"""What is told of an experiment, in its order, seen through a stand-in for the worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from made.synthetic import answer_spec, make_bundle_folder, make_record

from datamill.conduct import conduct_experiment as conducting
from datamill.conduct.conduct_experiment import conduct_experiment, list_trial_order
from datamill.conduct.running.both_parts import ResumedRun
from datamill.protocol.trial import TrialRecord, TrialSpec
from datamill.results.bundles.bundle import Bundle

LEFT = "aslr is still off"


class Listening:
    """Notes what is told, by the names of a listener's methods."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def show_trials(self, **_: Any) -> nullcontext[None]:
        return nullcontext()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.told.append(name)


class StandIn:
    """A worker that completes every trial, or is interrupted in the first; it never restores the host."""

    interrupted = False

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        if self.interrupted:
            raise KeyboardInterrupt
        return answer_spec(make_record(spec.trial_id, spec.attempt), spec)

    def restore_host(self) -> list[str]:
        return [LEFT]

    def stop(self) -> None:
        pass


@contextmanager
def hold_host(**_: object) -> Iterator[tuple[int, ...]]:
    yield ()


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    made = make_bundle_folder(tmp_path / "bundle")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, stand_in in {
        "find_worker": lambda: Path("worker"),
        "read_host_facts": lambda _: None,
        "open_resumable": lambda *_: made,
        "lock_host": hold_host,
        "WorkerProgram": StandIn,
    }.items():
        monkeypatch.setattr(conducting, name, stand_in)
    return made


def test_the_report_follows_the_trials_and_the_host_has_the_last_word(bundle: Bundle) -> None:
    listener = Listening()
    ended = conduct_experiment(ResumedRun(bundle.folder), listener)
    steps = [step for step in dict.fromkeys(listener.told) if step not in ("begin_trial", "end_trial")]
    assert steps[:3] == ["begin_run", "tell_unrestored", "tell_pending"]
    assert listener.told[-3:] == ["tell_ended", "tell_report", "tell_unrestored"]
    assert listener.told.count("end_trial") == len(bundle.design.trials)
    assert ended.unrestored == (LEFT,)
    assert bundle.report_file.is_file()
    assert not list_trial_order(ResumedRun(bundle.folder), listener.tell_follow_up).trials


def test_an_interrupted_experiment_says_how_to_go_on_and_then_how_the_host_is(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StandIn, "interrupted", True)
    listener = Listening()
    with pytest.raises(KeyboardInterrupt):
        conduct_experiment(ResumedRun(bundle.folder), listener)
    assert listener.told[-2:] == ["tell_stopped", "tell_unrestored"]
    assert not bundle.report_file.exists()
    waiting = list_trial_order(ResumedRun(bundle.folder), listener.tell_follow_up)
    assert len(waiting.trials) == len(bundle.design.trials)
