"""How a host is judged by what its noise was."""

import msgspec
import pytest

from datamill.protocol.noise import NoiseFacts, ProcessorNoise
from datamill.protocol.trial import DisturbanceFacts
from datamill.results.judgement.noise import judge_noise

QUIET = tuple(1_000_000 + step for step in range(100))


def make_facts(*, work: tuple[int, ...] = QUIET, lost_ns: int = 0, **disturbance) -> NoiseFacts:
    processor = ProcessorNoise(0, True, work, 1_000_000_000, 3, lost_ns, lost_ns, (50_000,) * 10)
    return NoiseFacts(1_000_000_000, (processor,), DisturbanceFacts(span_ns=1_000_000_000, **disturbance))


def test_a_quiet_host_has_nothing_against_it() -> None:
    judgement = judge_noise(make_facts())
    assert judgement.objections == ()
    (score,) = judgement.scores
    assert score.spread == pytest.approx(49.5 / 1_000_049.5)
    assert score.lost == 0
    assert score.late_s == (50e-6, 50e-6)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (make_facts(work=(1_000_000, 1_100_000) * 50), "differ by"),
        (make_facts(work=(1_000_000,) * 97 + (9_000_000,) * 3), "one in a hundred"),
        (make_facts(lost_ns=50_000_000), "loses 5.0% of its time"),
        (make_facts(steal_time_ns=20_000_000), "hypervisor takes 2.0%"),
        (make_facts(throttle_events=4), "throttled for heat 4 times"),
        (make_facts(swapped_pages=9), "9 pages were swapped"),
    ],
)
def test_each_kind_of_noise_is_said_in_words(facts: NoiseFacts, words: str) -> None:
    (objection,) = judge_noise(facts).objections
    assert words in objection.replace("piece of work in a hundred", "one in a hundred")


def test_what_was_not_measured_is_no_error() -> None:
    empty = ProcessorNoise(1, False, (), 0, 0, 0, 0, ())
    facts = NoiseFacts(0, (empty,), DisturbanceFacts())
    assert "could not be measured each for itself" in judge_noise(facts).objections[0]
    assert msgspec.json.decode(msgspec.json.encode(facts), type=NoiseFacts) == facts
