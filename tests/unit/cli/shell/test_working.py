"""Long computations give a sign of life, short ones none."""

from __future__ import annotations

import threading

import pytest

from datamill.cli.tables import working


def test_a_long_computation_says_that_it_goes_on_and_then_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(working, "_IN_FILE", (0.01, 0.01))
    said: list[str] = []
    twice = threading.Event()

    def write(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            twice.set()

    with working.Working("analyze quantiles", write):
        assert twice.wait(60)
    count = len(said)
    assert said[0].startswith("analyze quantiles: computing for ")
    assert count == len(said)


def test_a_short_computation_says_nothing() -> None:
    said: list[str] = []
    with working.Working("analyze summary", said.append):
        pass
    assert said == []
