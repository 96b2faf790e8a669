"""Any text that a user sends is read or refused, with work and memory in proportion to its length."""

from __future__ import annotations

import contextlib
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType

from hypothesis import example, given, settings
from hypothesis import strategies as st
from running.nightly import choose_count

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment

#: Calls and bytes for each character of a text, and those that any text takes.
CALLS, BYTES = 40, 1000
MOST_CALLS, MOST_BYTES = 50_000, 2_000_000

FRAGMENTS = [
    "a", "b", "1", "9", "0x", "+", "-", "_", ".", "=", " = ", "\n", "\r\n", " ", "\t", ",", "[", "]",
    "[[", "]]", "{", "}", '"', "'", '"""', "'''", "\\", "\\n", "\\u", "#", ":", "é", "\u2028", "😀",
    "\x00", "\x7f", "\ufeff", "inf", "nan", "1e308", "1979-05-27", "07:32:00", "true", "..", "%", "100%",
    "0..9", "*", "(", ")", "**", "[experiment]\n", "name = ", '"x"', "question = ", "replicates = ",
    "seed = ", "design = ", '"covering"', "strength = ", "[[package]]\n", "path = ", "[[load]]\n",
    "[[factor]]\n", "[factors]\n", "[nuisance]\n", "aslr = ", "env_padding = ", "cpu_affinity = ",
    "{ randomise = ", "{ fix = ", "[responses.r]\n", "unit = ", "formula = ", "direction = ", '"lower"',
    "[limits]\n", "run_timeout = ", "package = ", "[constraints]\n", "min_memory = ", "min_clock = ",
    "cpu_model = ", "[coverage]\n", "machine = ", "[fleet]\n", "redundancy = ", "[replication]\n",
    "builds = ", "until = ", "half_width = ", "max_trials = ", "max_time = ", "[reference]\n",
    "every = ",
]  # fmt: skip
HEAD = '[experiment]\nname = "x"\n[[package]]\nname = "a"\npath = "a"\n'


@st.composite
def hostile_texts(draw: st.DrawFn) -> str:
    """A few fragments, many times over, between others: what drives a parser to its worst."""
    pieces = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join)
    repeated = st.tuples(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join),
                         st.sampled_from([1, 2, 50, 500, 3000]))  # fmt: skip
    parts = draw(st.lists(st.tuples(pieces, repeated), min_size=1, max_size=4))
    return draw(st.sampled_from(["", HEAD])) + "".join(
        before + text * count for before, (text, count) in parts
    )


def count_work(function: Callable[[], object]) -> tuple[int, int]:
    """Return how many functions were called, and the most bytes that were held."""
    calls = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    tracemalloc.start()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return calls, most


@settings(max_examples=choose_count(20, 500), deadline=None)
@example("a." * 100_000 + "a = 1")
@example("x = " + "[" * 20_000 + "]" * 20_000)
@example("x = " + "{a=" * 20_000 + "}" * 20_000)
@example("x = " + "9" * 100_000)
@example(HEAD + "".join(f'[[package]]\nname = "p{n}"\npath = "p"\n' for n in range(3000)))
@example(HEAD + "[[load]]\nname = 'l'\npath = 'l'\n[factors]\nbackground_load = [" + '"l",' * 20_000 + "]")
@example(HEAD + "[factors]\nenv_padding = [" + ",".join(map(str, range(1, 20_000))) + "]")
@example(HEAD + "[factors]\ncpu_affinity = '" + "0-99999," * 5000 + "1'")
@example(HEAD + "[constraints]\nmin_memory = '1" + " " * 50_000 + "!'")
@example(HEAD + "[replication]\nmax_trials = 9\nuntil = { half_width = '" + "1" * 50_000 + "x' }")
@example(
    HEAD + "".join(f"[responses.r{n}]\nunit = 's'\ndirection = 'lower'\nformula = '1'\n" for n in range(2000))
)
@example(HEAD.replace("x", '"\nquestion = """\n[' + " " * 20_000 + '\n"""\nfoo = "'))
@given(hostile_texts())
def test_any_text_is_read_or_refused_with_work_in_proportion(text: str) -> None:
    def read() -> None:
        with contextlib.suppress(InputError):
            parse_experiment(text, name="e.toml")

    calls, most = count_work(read)
    assert calls <= MOST_CALLS + CALLS * len(text)
    assert most <= MOST_BYTES + BYTES * len(text)
