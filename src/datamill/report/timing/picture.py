"""The means of timed commands and their intervals, drawn with characters."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from datamill.experiment.messages.numbers import format_figures
from datamill.report.timing.statement import find_scale, spell_mean
from datamill.report.timing.timing_answer import CommandMean, TimingAnswer

_WIDTH = 36
#: Means further apart than this are drawn from zero, nearer ones close up.
_CLOSE = 1.5
_LONGEST_LABEL = 40
#: Characters that a picture has at least: fewer show nothing.
_NARROWEST = 12


def draw_means(answer: TimingAnswer, columns: int | None = None) -> list[str]:
    """Return a line a command, with the place of its mean and interval, and a line for the scale.

    Where the terminal has too few columns for that, the name of a command stands above its picture, and in a
    narrow one its mean below that. None: lines may be as long as they are.
    """
    known = [mean for mean in answer.means if mean.mean is not None and mean.low is not None]
    if not known:
        return []
    low, high = _find_range(known)
    label_width = min(_LONGEST_LABEL, max(_count_cells(mean.command.label) for mean in answer.means))
    told = [f"{spell_mean(answer, mean)}, n = {mean.n}" for mean in answer.shown_means]
    blank = " " * (label_width + 4)
    width = _find_room(columns, len(blank) + 2 + max(map(len, told)))
    is_apart = width < _NARROWEST
    if is_apart:
        blank = " " * 4
        width = _find_room(columns, len(blank) + 2 + max(map(len, told)))
    is_below = width < _NARROWEST
    if is_below:
        width = max(_NARROWEST, _find_room(columns, len(blank)))
    lines = []
    for mean, text in zip(answer.shown_means, told, strict=True):
        picture = _draw(mean, low, high, width)
        if is_apart:
            lines.append(f"  {_shorten(mean.command.label, max(_NARROWEST, (columns or 0) - 2))}")
        start = blank if is_apart else f"  {_fill(_shorten(mean.command.label, label_width), label_width)}  "
        lines += [f"{start}{picture}", f"{blank}{text}"] if is_below else [f"{start}{picture}  {text}"]
    if len(known) > 1:
        scale = find_scale(answer, high)
        left = f"{format_figures(low * scale.factor)}"
        right = f"{format_figures(high * scale.factor)} {scale.unit}".rstrip()
        lines.append(f"{blank}{left}{right:>{width - len(left)}}")
    return [line.rstrip() for line in lines]


def _find_room(columns: int | None, taken: int) -> int:
    """Characters that a picture may have beside so many others in a line."""
    return _WIDTH if columns is None else min(_WIDTH, columns - taken)


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


def _draw(mean: CommandMean, low: float, high: float, width: int) -> str:
    if mean.mean is None or mean.low is None or mean.high is None:
        return " " * width

    def place(value: float) -> int:
        return max(0, min(width - 1, round((value - low) / (high - low) * (width - 1))))

    cells = [" "] * width
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
    if _count_cells(text) <= width:
        return text
    # At once: a command may have a million signs.
    text = text[:width]
    while _count_cells(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _fill(text: str, width: int) -> str:
    return text + " " * (width - _count_cells(text))


def _count_cells(text: str) -> int:
    """Columns that a text takes in a terminal: signs of East Asia take two, accents on others none."""
    return sum((east_asian_width(sign) in "WF") + (not combining(sign)) for sign in text)
