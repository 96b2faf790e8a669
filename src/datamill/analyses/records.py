"""What every analysis can do: be read, drawn, written as a page, taken apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypedDict

from datamill.analysis.model_data.question import Question
from datamill.report.figures.figure import Figure
from datamill.report.page.analysis_page import Section, render_analysis_page


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


def build_question(asked: Asked) -> Question:
    """Return the question as a record."""
    return Question(
        response=asked.get("response", ""),
        factors=tuple(asked.get("factors", ())),
        covariates=tuple(asked.get("covariates", ())),
        formula=asked.get("formula", ""),
        order=asked.get("order"),
        trial=asked.get("trial", ""),
        run_order=asked.get("run_order", ""),
        blocks=tuple(asked.get("blocks", ())),
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
    def text(self) -> str:
        """The result for a terminal of 100 columns."""

    @abstractmethod
    def json(self) -> str:
        """The result as JSON with every digit."""

    @abstractmethod
    def figures(self) -> tuple[Figure, ...]:
        """The figures, the most important one first."""

    def page(self) -> str:
        """The result as one HTML page that needs nothing but itself."""
        sections = [Section("The numbers", tables=(self.text(),))]
        if figures := self.figures():
            sections.insert(0, Section("The picture", figures=figures))
        return render_analysis_page(self.title, self.lead, sections, self.warnings)

    def __str__(self) -> str:
        """The result as text."""
        return self.text()
