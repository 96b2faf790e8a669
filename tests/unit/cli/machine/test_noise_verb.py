"""`datamill worker noise` judges what it measured, and its exit status says how, as JSON too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from datamill.cli.machine import worker as worker_verbs
from datamill.protocol.noise import NoiseFacts, ProcessorNoise
from datamill.protocol.trial import DisturbanceFacts


def make_facts(**disturbance: int) -> NoiseFacts:
    processor = ProcessorNoise(0, True, (1_000_000,) * 50, 1_000_000_000, 3, 0, 0, (50_000,) * 10)
    return NoiseFacts(1_000_000_000, (processor,), DisturbanceFacts(span_ns=1_000_000_000, **disturbance))


@contextmanager
def _lock(**_: Any) -> Iterator[None]:
    yield


def measure(monkeypatch: pytest.MonkeyPatch, facts: NoiseFacts, *options: str) -> tuple[int, str]:
    """Run the command on a host that measures these facts; return exit status and output."""
    monkeypatch.setattr(worker_verbs, "find_worker", lambda: Path("datamill-worker"))
    monkeypatch.setattr(worker_verbs, "lock_host", _lock)
    monkeypatch.setattr(worker_verbs, "ask_worker", lambda *_: msgspec.json.encode(facts))
    result = CliRunner().invoke(worker_verbs.worker, ["noise", *options])
    return result.exit_code, result.output


def test_a_quiet_host_is_said_to_be_quiet_in_json_too(monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measure(monkeypatch, make_facts(), "--json")
    told = json.loads(output)
    assert status == 0
    assert list(told) == ["schema", "answer", "scores", "measured", "warnings"]
    assert told["answer"] == ["Nothing speaks against this host."]
    assert told["warnings"] == []
    assert [score["processor"] for score in told["scores"]] == [0]
    assert told["measured"]["processors"][0]["work_ns"] == [1_000_000] * 50


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_noisy_host_has_status_1_in_either_form(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    status, output = measure(monkeypatch, make_facts(swapped_pages=9), *options)
    assert status == 1
    assert "9 pages were swapped" in output


def test_what_speaks_against_a_host_is_a_warning_of_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    _, output = measure(monkeypatch, make_facts(swapped_pages=9, throttle_events=4), "--json")
    told = json.loads(output)
    assert told["answer"] == ["This host is noisy."]
    assert told["warnings"] == ["A processor was throttled for heat 4 times.", "9 pages were swapped."]
