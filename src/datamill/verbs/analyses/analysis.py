"""What every analysis can do: be read, drawn, written as a page, taken apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelQuestion
from datamill.experiment.errors import InputError
from datamill.report.figures.figure import Figure, shorten_figure
from datamill.report.page.analysis_page import Section, render_analysis_page
from datamill.report.tables.envelope import write_result
from datamill.report.tables.markup import RENDERERS, TableForm
from datamill.report.tables.statement import Paragraph, Part, list_tables
from datamill.report.tables.text import render_text, wrap
from datamill.report.words.short_names import apply_short_names, use_short_names
from datamill.verbs.inputs.arguments import (
    refuse_unknown,
    take_level_lists,
    take_name,
    take_names,
    take_whole,
)


class Asked(TypedDict, total=False):
    """What is asked of the data; the options of the same names of `datamill analyze`."""

    response: str
    factors: Sequence[str]
    covariates: Sequence[str]
    formula: str
    order: int | None
    trial: str
    run_order: str
    blocks: Sequence[str]
    where: Mapping[str, str | Sequence[str]]


def build_question(asked: Asked, verb: Callable[..., object]) -> ModelQuestion:
    """Return the question that a verb was asked as a record.

    Raises:
        InputError: the verb has no such argument, or one is not of its kind.
    """
    refuse_unknown(verb, asked, Asked.__annotations__)
    return ModelQuestion(
        response=take_name("response", asked.get("response")),
        factors=take_names("factors", asked.get("factors")),
        covariates=take_names("covariates", asked.get("covariates")),
        formula=take_name("formula", asked.get("formula")),
        order=take_whole("order", asked.get("order"), 1),
        trial=take_name("trial", asked.get("trial")),
        run_order=take_name("run_order", asked.get("run_order")),
        blocks=take_names("blocks", asked.get("blocks")),
        where=take_level_lists("where", asked.get("where")),
    )


def build_groups_question(asked: Asked, verb: Callable[..., object]) -> ModelQuestion:
    """Return the question that a verb without a model was asked: one about groups.

    Raises:
        InputError: as `build_question`, or it asks for covariates or interactions.
    """
    question = build_question(asked, verb)
    if question.covariates:
        raise _refuse_model(verb, f"does not heed covariates ({', '.join(question.covariates)})")
    if question.order is not None:
        raise _refuse_model(verb, "has no interactions, and so no order of them")
    return question


def refuse_covariates(observations: Observations, verb: Callable[..., object]) -> None:
    """Refuse covariates that a formula asks for, from a verb without a model.

    Raises:
        InputError: there are some.
    """
    if observations.covariates:
        names = ", ".join(item.name for item in observations.covariates)
        raise _refuse_model(verb, f"does not heed covariates ({names})")


def _refuse_model(verb: Callable[..., object], why: str) -> InputError:
    return InputError(
        f"{verb.__name__} compares groups and {why}",
        remedy="Leave them out (of a formula: C(column) makes numbers levels), or ask anova or quantiles, "
        "which adjust for them.",
    )


class Analysis(ABC):
    """The result of a verb; `print` shows what the command prints."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What was analysed, for the head of a page."""

    @property
    @abstractmethod
    def lead(self) -> tuple[str, ...]:
        """The answer in sentences."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""

    @abstractmethod
    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """What the result says, part after part; `verbose` adds what only specialists look for."""

    def text(self) -> str:
        """The result for a terminal of 100 columns."""
        return render_text(self.statement())

    def full_text(self) -> str:
        """The same with what only specialists look for."""
        return render_text(self.statement(verbose=True))

    def tables(self, form: TableForm) -> str:
        """The tables of the result for a paper or another program: `markdown`, `latex` (booktabs) or `csv`.

        Raises:
            InputError: there is no such form, or the result has no table.
        """
        render = RENDERERS.get(form)
        if render is None:
            forms = ", ".join(RENDERERS)
            raise InputError(f'there is no form "{form}" of tables', remedy=f"Choose one of: {forms}.")
        found = list_tables(self.statement())
        if not found:
            raise InputError("this result has no table", remedy="Print its text or its JSON.")
        return "\n".join(map(render, found))

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """The numbers of the result with every digit, as values of JSON but for infinities."""

    def json(self) -> str:
        """The result as JSON: `schema` (1), `answer` (sentences), the numbers, `warnings`."""
        return write_result(self.lead, self.numbers(), self.warnings)

    @abstractmethod
    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """What draws the figures, the most important one first; each may raise InputError."""

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Factors with the names of their levels, which are shortened to what differs where they are long."""
        return ()

    def show(self, *, verbose: bool = False) -> str:
        """The text as the command prints it, with long names of levels shortened."""
        with use_short_names(self.label_groups()) as notes:
            text = self.full_text() if verbose else self.text()
        return "\n".join((text, *(line for note in notes for line in wrap(note, "  "))))

    def figures(self) -> tuple[Figure, ...]:
        """The figures that can be drawn, the most important one first."""
        return self.draw_possible()[0]

    def page(self) -> str:
        """The result as one HTML page that needs nothing but itself; it says which figures it lacks."""
        with use_short_names(self.label_groups()) as notes:
            figures, reasons = self.draw_possible()
            figures = tuple(shorten_figure(figure) for figure in figures)
            sections = [Section("The numbers", sentences=notes, parts=self.list_numbers())]
            if figures or reasons:
                sections.insert(0, Section("The picture", sentences=reasons, figures=figures))
            lead = [apply_short_names(sentence) for sentence in self.lead]
            warnings = [apply_short_names(sentence) for sentence in self.warnings]
            return render_analysis_page(self.title, lead, sections, warnings)

    def list_numbers(self) -> tuple[Part, ...]:
        """The statement without what a page has at its top: the lead and the warnings."""
        said = {*self.lead, *(f"Warning: {warning}." for warning in self.warnings)}
        return tuple(
            part for part in self.statement() if not (isinstance(part, Paragraph) and part.text in said)
        )

    def draw_possible(self) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
        """The figures that can be drawn, and why others are left out."""
        figures, reasons = [], []
        for draw in self.drawings():
            try:
                figures.append(draw())
            except InputError as error:
                reasons.append(f"A figure is left out: {error.message}.")
        return tuple(figures), tuple(dict.fromkeys(reasons))

    def __str__(self) -> str:
        """The result as text."""
        return self.show()
