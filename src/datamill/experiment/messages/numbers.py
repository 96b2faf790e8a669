"""Numbers as people read them, the same on a page, in a terminal and in Markdown.

All round here: no digits beyond those that matter, thin spaces between groups of three, a true minus, no
negative zero, an exponent only where zeros would have to be counted, and words for what is not finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Narrow no-break space between groups of three digits.
_GROUP = "\u202f"
#: Decimals that a number has at most.
_MOST_DECIMALS = 12
#: Sizes from and up to which a number is written without an exponent.
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e7
#: Figures of a number that someone chose or that is quoted from the data.
_GIVEN = 10


def format_count(number: int) -> str:
    """A count with thin groups of three: `12 600`."""
    return f"{number:,}".replace(",", _GROUP)


def format_mean_count(number: float, about: str = "") -> str:
    """A mean of counts: as a count if it is whole up to rounding, else three figures after `about`."""
    whole = math.isfinite(number) and abs(number - round(number)) < 1e-9
    return format_count(round(number)) if whole else f"{about}{format_figures(number)}"


def format_figures(value: float, figures: int = 3, *, signed: bool = False) -> str:
    """At most so many figures, none of them a zero at the end of decimals: `0.5`, `12.3`, `1 234`, `1.2e-05`.

    Digits before the point are all written: of a whole number a reader expects no zeros instead of them.
    """
    if not math.isfinite(value):
        return _name_infinite(value)
    if value == 0:
        return "0"
    # Where rounding brings a number to the next power of ten, that power counts.
    size = abs(float(f"{value:.{figures - 1}e}"))
    if not _SMALLEST_PLAIN <= size < max(_LARGEST_PLAIN, 10.0**figures):
        mantissa, exponent = f"{value:.{figures - 1}e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return _sign(f"{mantissa}e{exponent}", signed=signed)
    text = f"{value:,.{max(0, figures - 1 - math.floor(math.log10(size)))}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return _sign(text, signed=signed)


def format_given(value: float) -> str:
    """A number that someone chose, or that is quoted from the data: as it is, up to ten figures."""
    return format_figures(value, _GIVEN)


def format_fixed(value: float, decimals: int) -> str:
    """A number with so many decimals."""
    return _sign(f"{value:,.{decimals}f}") if math.isfinite(value) else _name_infinite(value)


def format_signed(value: float, decimals: int) -> str:
    """As `format_fixed`, with a plus sign before what shows as more than zero."""
    return _sign(f"{value:,.{decimals}f}", signed=True) if math.isfinite(value) else _name_infinite(value)


def format_exponent(value: float, decimals: int, *, signed: bool = False) -> str:
    """A number with so many decimals and an exponent."""
    return _sign(f"{value:.{decimals}e}", signed=signed) if math.isfinite(value) else _name_infinite(value)


def format_ceiling(value: float, decimals: int) -> str:
    """A bound that is not negative, rounded up, so that it still holds as printed."""
    step = 10**decimals
    # What a decimal is short of itself in binary must not raise it by a whole unit.
    return format_fixed(math.ceil(value * step * (1 - 1e-12)) / step, decimals)


def format_to_error(value: float, error: float, *, signed: bool = False) -> str:
    """A number with two figures of its error; with an exponent where the error is tiny."""
    if is_beyond_decimals(error):
        return format_exponent(value, count_mantissa_decimals(value, error), signed=signed)
    return (format_signed if signed else format_fixed)(value, count_decimals(error))


def count_decimals(uncertainty: float, digits: int = 2) -> int:
    """Decimals that show `digits` figures of an uncertainty; 3 when it is zero."""
    if uncertainty <= 0 or not math.isfinite(uncertainty):
        return 3
    return max(0, min(_MOST_DECIMALS, digits - 1 - math.floor(math.log10(uncertainty))))


def is_beyond_decimals(error: float) -> bool:
    """Whether an error is so small that decimals would round it to nothing."""
    return math.isfinite(error) and 0 < error < 10.0**-_MOST_DECIMALS


def count_mantissa_decimals(value: float, error: float) -> int:
    """Decimals of a number with an exponent that show two figures of its error, at most what doubles hold."""
    if value == 0:
        return 1
    return max(1, min(16, math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 1))


def format_share(share: float) -> str:
    """A share that was found, in percent: two figures of it or of what it leaves, a decimal at most.

    `0.4%`, `2.1%`, `43%`, `97.9%`; `< 0.1%` and `> 99.9%` for what is nearer to none and to all.
    """
    if not math.isfinite(share):
        return _name_infinite(share)
    percent = 100 * share
    # Sums of shares overshoot by what rounding leaves.
    if abs(percent) < 1e-9 or abs(percent - 100) < 1e-9:
        return "0%" if percent < 50 else "100%"
    if 0 < percent < 0.1 or 99.9 < percent < 100:
        return "< 0.1%" if percent < 1 else "> 99.9%"
    return f"{format_fixed(percent, 0 if 9.95 <= abs(percent) <= 90.05 else 1)}%"


def format_level(share: float) -> str:
    """A share that someone chose, such as a confidence or a threshold: `95%` for 0.95, `99.9%` for 0.999."""
    return f"{format_given(100 * share)}%"


def name_quantile(quantile: float) -> str:
    """`median` for 0.5, `0.99 quantile` for another."""
    return "median" if quantile == 0.5 else f"{format_given(quantile)} quantile"


def name_quantiles(quantiles: Sequence[float]) -> str:
    """`the quantile 0.5`, `the quantiles 0.1, 0.5`; of more than six the first three and the last."""
    shown = [format_given(quantile) for quantile in quantiles]
    if len(shown) > 6:
        shown = [*shown[:3], "…", shown[-1]]
    return f"the quantile{'s' if len(quantiles) > 1 else ''} {', '.join(shown)}"


def format_p(p: float | None, missing: str = "no test") -> str:
    """A p-value as far into the tail as a double reaches: `0.0859`, `1.3e-187`, `< 1e-300`.

    `missing` where nothing was tested.
    """
    if p is None:
        return missing
    if p < 1e-300:
        return "< 1e-300"
    return f"{p:.2g}" if p < 1e-4 else f"{p:.3g}" if p < 0.1 else f"{p:.2f}"


def say_p(p: float) -> str:
    """A p-value after the letter: `p = 0.012`, `p < 1e-300`."""
    told = format_p(p)
    return f"p {told}" if told.startswith("<") else f"p = {told}"


def _sign(text: str, *, signed: bool = False) -> str:
    """A number that Python wrote, with our signs and groups."""
    text = text.replace(",", _GROUP)
    magnitude = text.removeprefix("-")
    if not magnitude.partition("e")[0].strip(f"0.{_GROUP}"):
        return magnitude
    if text.startswith("-"):
        return f"−{magnitude}"
    return f"+{magnitude}" if signed else magnitude


def _name_infinite(value: float) -> str:
    if math.isnan(value):
        return "not a number"
    return "infinity" if value > 0 else "minus infinity"
