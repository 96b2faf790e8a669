"""The means of timed commands and their intervals, drawn with characters."""

from __future__ import annotations

from datamill.experiment.messages.numbers import format_figures
from datamill.report.timing.statement import find_scale, spell_mean
from datamill.report.timing.timing_answer import CommandMean, TimingAnswer

_WIDTH = 36
#: Means further apart than this are drawn from zero, nearer ones close up.
_CLOSE = 1.5
_LONGEST_LABEL = 40


def draw_means(answer: TimingAnswer) -> list[str]:
    """Return a line a command, with the place of its mean and interval, and a line for the scale."""
    known = [mean for mean in answer.means if mean.mean is not None and mean.low is not None]
    if not known:
        return []
    low, high = _find_range(known)
    width = min(_LONGEST_LABEL, max(len(mean.command.label) for mean in answer.means))
    lines = []
    for mean in answer.shown_means:
        label = _shorten(mean.command.label, width)
        lines.append(
            f"  {label:<{width}}  {_draw(mean, low, high)}  {spell_mean(answer, mean)}, n = {mean.n}"
        )
    if len(known) > 1:
        scale = find_scale(answer, high)
        left = f"{format_figures(low * scale.factor)}"
        right = f"{format_figures(high * scale.factor)} {scale.unit}".rstrip()
        lines.append(f"  {'':<{width}}  {left}{right:>{_WIDTH - len(left)}}")
    return lines


def _find_range(known: list[CommandMean]) -> tuple[float, float]:
    lows = [mean.low or 0.0 for mean in known]
    highs = [mean.high or 0.0 for mean in known]
    low, high = min(lows), max(highs)
    means = [abs(mean.mean or 0.0) for mean in known]
    if min(means) <= 0 or max(means) / min(means) > _CLOSE or len(known) == 1:
        low = min(0.0, low)
    if high <= low:
        high = low + (abs(low) or 1.0) / 100
    return low, high


def _draw(mean: CommandMean, low: float, high: float) -> str:
    if mean.mean is None or mean.low is None or mean.high is None:
        return " " * _WIDTH

    def place(value: float) -> int:
        return max(0, min(_WIDTH - 1, round((value - low) / (high - low) * (_WIDTH - 1))))

    cells = [" "] * _WIDTH
    left, middle, right = place(mean.low), place(mean.mean), place(mean.high)
    for cell in range(left, right + 1):
        cells[cell] = "─"
    if low == 0:
        for cell in range(left):
            cells[cell] = "·"
    cells[left], cells[right] = "├", "┤"
    cells[middle] = "●"
    return "".join(cells)


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
