"""How templates write times, sizes and explained words."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from datamill.experiment.messages.numbers import format_count, format_fixed, format_given, format_share
from datamill.experiment.quantities import format_duration, format_size
from datamill.report.words.glossary import Word, read_words
from datamill.service.models import Trial
from datamill.service.pages.experiments.trials.trial_counts import STATE_KINDS, TRIAL_WORDS
from datamill.service.progress import DONE
from datamill.service.states import TrialPurpose, TrialState

register = template.Library()
#: Pictures up to this width are made smaller for a narrow screen; wider ones are moved in it.
_READ_ON_PHONES_PX = 440


@register.filter
def moment(unix_s: float | None) -> SafeString | str:
    """A point in time as its distance from now, with the exact time (UTC) behind it."""
    if not unix_s:
        return "never"
    when = datetime.fromtimestamp(unix_s, UTC)
    distance_s = time.time() - unix_s
    if abs(distance_s) < 5:
        words = "just now"
    elif distance_s < 0:
        words = f"in {coarse_duration(-distance_s)}"
    elif distance_s < 30 * 86400:
        words = f"{coarse_duration(distance_s)} ago"
    else:
        words = f"{when:%Y-%m-%d}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S} UTC", words
    )


@register.filter
def clock_time(unix_s: float | None) -> SafeString | str:
    """A point in time, exact (UTC)."""
    if not unix_s:
        return "never"
    when = datetime.fromtimestamp(unix_s, UTC)
    return format_html('<time datetime="{}">{}</time>', when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S}")


def coarse_duration(seconds: float) -> str:
    """A duration in its largest unit, such as `3 h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{format_fixed(seconds / size, 0)} {unit}"
    return f"{format_fixed(seconds, 0)} s"


@register.filter
def duration(seconds: float | None) -> str:
    """A duration in its two largest units."""
    if seconds is None:
        return ""
    return format_duration(seconds) if seconds else "0 s"


@register.filter
def fits_phones(svg: str) -> bool:
    """Whether a picture is so narrow that it is still read when a phone shows all of it."""
    found = re.search(r'<svg[^>]*? width="([0-9.]+)"', svg[:2000])
    return found is not None and float(found[1]) <= _READ_ON_PHONES_PX


@register.filter
def size(size_bytes: float | None) -> str:
    """A size in binary units."""
    return "" if size_bytes is None else format_size(size_bytes)


@register.filter
def percentage(share: float) -> str:
    """A share of 1 as a percentage."""
    return format_share(share)


@register.filter
def fixed(number: float, decimals: int) -> str:
    """A number with so many decimals."""
    return format_fixed(number, decimals)


@register.filter
def hundredths(number: float) -> str:
    """A number of which hundredths matter, without decimals that are zero: `0.33`, `2`."""
    return format_given(round(number, 2))


@register.filter
def thousands(number: int) -> str:
    """A whole number in groups of three digits, which do not break apart."""
    return format_count(number)


@register.filter
def short_digest(sha256: str) -> str:
    """The beginning of a digest, enough to tell it from others."""
    return sha256[:12]


@register.simple_tag
def gloss(key: str, text: str = "") -> SafeString:
    """A word with a link to its explanation, which also appears when the pointer rests on it."""
    word = _find_word(key)
    return format_html(
        '<a class="gloss" href="{}#{}" title="{}">{}</a>',
        reverse("words"),
        key,
        word.short,
        text or word.title,
    )


@register.simple_tag
def meaning(key: str) -> str:
    """The explanation of a word in one line."""
    return _find_word(key).short


def _find_word(key: str) -> Word:
    return next(word for word in read_words() if word.offered and word.key == key)


@register.filter
def looks(state: str) -> str:
    """How a state looks: good, live, warn, bad or nothing in particular."""
    return STATE_KINDS.get(state, "")


@register.filter
def trial_word(trial: Trial) -> str:
    """What pages call a trial's state: what debugs or builds is done, and does not count."""
    if trial.state == TrialState.COUNTED and trial.purpose != TrialPurpose.DESIGN:
        return DONE
    return TRIAL_WORDS.get(trial.state, trial.state)
