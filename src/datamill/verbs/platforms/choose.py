"""`platforms choose`: which machines to measure on, and which benchmarks a suite can do without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.platforms.choice.choose_machines import choose_machines as choose_from_matrix
from datamill.platforms.choice.platform_choice import ChosenMachine, MachineChoice, SmallerSuite
from datamill.platforms.choice.shrink_suite import shrink_suite
from datamill.report.figures.figure import Figure
from datamill.report.platforms.choice_statement import (
    phrase_choice,
    phrase_suite,
    state_choice,
    state_suite,
)
from datamill.report.platforms.figures.choice_figure import draw_choice
from datamill.report.platforms.json import spell_choice, spell_suite
from datamill.report.tables.statement import BLANK, Paragraph, Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_name, take_whole
from datamill.verbs.inputs.scores import load_scores
from datamill.verbs.platforms.platform_inputs import take_machines


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPlatforms(Analysis):
    """Machines to measure on, a smaller suite, or both; `loss` is the one that the suite was shrunk by."""

    choice: MachineChoice | None
    suite: SmallerSuite | None
    loss: float
    notes: tuple[str, ...]

    @property
    def machines(self) -> tuple[ChosenMachine, ...]:
        """The machines of the choice, in their order."""
        return () if self.choice is None else self.choice.machines

    @property
    def title(self) -> str:
        """What was chosen."""
        return "Machines to measure on" if self.choice is not None else "A smaller suite"

    @property
    def lead(self) -> tuple[str, ...]:
        """The machines, and how many benchmarks are enough."""
        told = () if self.choice is None else (phrase_choice(self.choice),)
        return told if self.suite is None else (*told, phrase_suite(self.suite, self.loss))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the choice."""
        found = [item.warnings for item in (self.choice, self.suite) if item is not None]
        return tuple(dict.fromkeys([*self.notes, *(warning for part in found for warning in part)]))

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The machines with what is left after each, and what the suite can do without."""
        parts: list[Part] = [] if self.choice is None else state_choice(self.choice)
        if self.suite is not None:
            parts += [*([BLANK] if parts else []), *state_suite(self.suite, self.loss)]
        return (*parts, *(Paragraph(f"Warning: {note.rstrip('.')}.", "  ") for note in self.notes))

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return {**spell_choice(self.choice), **spell_suite(self.suite, self.loss)}

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """What is left unexplained as machines are added."""
        return () if self.choice is None else (partial(draw_choice, self.choice),)


def choose_machines(
    scores: Any,
    count: int | None = None,
    *,
    always: Sequence[str] | str = (),
    among: Sequence[str] | str | None = None,
    shrink: bool = False,
    loss: float = 0.05,
    machines: Any = None,
    response: str = "",
) -> ChosenPlatforms:
    """Choose `count` machines to measure an application on, from the suite's scores alone.

    `always` are machines that are among them in any case, `among` the only ones that may be. With `shrink`
    the benchmarks that the others predict with a median error of `loss` at most are found as well; `count`
    may then be left out. `scores`, `machines` and `response` are as in `predict_platforms`.

    Raises:
        InputError: the data cannot be used, or so many machines do not exist; says what to do.
    """
    wanted = take_whole("count", count, 1)
    if wanted is None and not shrink:
        raise InputError(
            "how many machines are to be chosen is not said",
            remedy=f"Say it with {argument('count', 7)}, or ask for a smaller suite: {argument('shrink')}.",
        )
    if not 0 < loss < 1:
        raise InputError(f"loss is {loss!r}, not a share between 0 and 1", remedy="Give one, such as 0.05.")
    loaded = load_scores(scores, machines=machines, response=take_name("response", response))
    matrix = loaded.matrix
    kept = take_machines("always", always, matrix.machines)
    pool = None if among is None else take_machines("among", among, matrix.machines)
    available = len(matrix.machines if not pool else {*pool, *kept})
    if wanted is not None and wanted > available:
        raise InputError(
            f"{wanted} machines are to be chosen, and there are {available}",
            remedy=f"Ask for {available} at most with {argument('count')}.",
        )
    if wanted is not None and len(kept) > wanted:
        raise InputError(
            f"{argument('always')} names {len(kept)} machines, and {wanted} are to be chosen",
            remedy=f"Name fewer, or ask for more with {argument('count')}.",
        )
    choice = None if wanted is None else choose_from_matrix(matrix, wanted, always=kept, among=pool or None)
    suite = shrink_suite(matrix, loss=loss) if shrink else None
    return ChosenPlatforms(choice, suite, loss, loaded.notes)
