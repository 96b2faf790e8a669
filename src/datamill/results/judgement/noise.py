"""How quiet a host is: what `datamill-worker noise` measured, and a judgement by stated rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.experiment.messages.numbers import format_count, format_level, format_share
from datamill.protocol.noise import NoiseFacts, ProcessorNoise


@dataclass(frozen=True, slots=True)
class ProcessorScore:
    """Figures of one processor.

    `spread` and `tail` are those of equal pieces of work: interquartile range, and excess of the 99th
    percentile, as shares of the median. `lost` is the share of time in which the program did not run;
    `late_s` are median and 99th percentile of how late a sleep ended.
    """

    processor: int
    spread: float
    tail: float
    lost: float
    longest_gap_s: float
    late_s: tuple[float, float]


@dataclass(frozen=True, slots=True)
class NoiseJudgement:
    """Figures of each processor, and what speaks against trusting this host, one sentence each."""

    scores: tuple[ProcessorScore, ...]
    objections: tuple[str, ...]


#: Rules of the judgement: shares beyond which a host is called noisy.
MOST_SPREAD = 0.01
MOST_TAIL = 0.05
MOST_LOST = 0.01
MOST_STEAL = 0.001


def judge_noise(facts: NoiseFacts) -> NoiseJudgement:
    """Return the figures of each processor, and which rules the host breaks."""
    scores = tuple(_score(processor) for processor in facts.processors)
    objections = []
    for value, most, what in (
        (_most(scores, "spread"), MOST_SPREAD, "equal pieces of work differ by {} (interquartile range)"),
        (_most(scores, "tail"), MOST_TAIL, "one piece of work in a hundred takes {} longer than the median"),
        (_most(scores, "lost"), MOST_LOST, "a program that never stops loses {} of its time"),
    ):
        if value > most:
            objections.append(f"{what.format(format_share(value))}, more than {format_level(most)}.")
    other = facts.disturbance
    span_ns = max(1, other.span_ns * max(1, len(scores)))
    stolen = (other.steal_time_ns or 0) / span_ns
    if stolen > MOST_STEAL:
        objections.append(
            f"The hypervisor takes {format_share(stolen)} of the processors, "
            f"more than {format_level(MOST_STEAL)}."
        )
    if other.throttle_events:
        objections.append(f"A processor was throttled for heat {format_count(other.throttle_events)} times.")
    if other.swapped_pages:
        objections.append(f"{format_count(other.swapped_pages)} pages were swapped.")
    unpinned = [str(item.processor) for item in facts.processors if not item.pinned]
    if unpinned:
        objections.append(f"Processors {', '.join(unpinned)} could not be measured each for itself.")
    return NoiseJudgement(scores, tuple(f"{text[0].upper()}{text[1:]}" for text in objections))


def _score(noise: ProcessorNoise) -> ProcessorScore:
    low, middle, high, far = _quantiles(noise.work_ns, (0.25, 0.5, 0.75, 0.99))
    late = _quantiles(noise.late_ns, (0.5, 0.99))
    return ProcessorScore(
        processor=noise.processor,
        spread=(high - low) / middle if middle else 0.0,
        tail=far / middle - 1 if middle else 0.0,
        # Watching ends with the gap in which its time runs out, and so may take longer than was meant.
        lost=noise.lost_ns / max(noise.watched_ns, noise.lost_ns, 1),
        longest_gap_s=noise.longest_gap_ns / 1e9,
        late_s=(late[0] / 1e9, late[1] / 1e9),
    )


def _quantiles(values: Sequence[int], probabilities: tuple[float, ...]) -> tuple[float, ...]:
    if not values:
        return tuple(0.0 for _ in probabilities)
    # Imported late: few commands judge noise, and many show what was judged.
    import numpy as np

    return tuple(float(value) for value in np.quantile(np.asarray(values, dtype=np.float64), probabilities))


def _most(scores: Sequence[ProcessorScore], name: str) -> float:
    return max((getattr(score, name) for score in scores), default=0.0)
