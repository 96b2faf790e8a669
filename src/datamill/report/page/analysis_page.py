"""A page for the result of any analysis: the answer first, then tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.figures.figure import Figure
from datamill.report.figures.views import FigureView, start_view
from datamill.report.page.frame import fill_template
from datamill.report.tables.statement import Part
from datamill.report.tables.text import render_text
from datamill.report.words.glossary import choose_words


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: its title, sentences that lead in, figures, and what a statement says."""

    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class _SectionView:
    title: str
    sentences: tuple[str, ...]
    views: tuple[FigureView, ...]
    parts: tuple[Part, ...]


def render_analysis_page(
    title: str, lead_sentences: Sequence[str], sections: Sequence[Section], warnings: Sequence[str] = ()
) -> str:
    """Render a self-contained HTML page; the first of `lead_sentences` is the answer in large letters.

    Names of figures must differ on a page.
    """
    drawn = [[start_view(figure) for figure in section.figures] for section in sections]
    views = [
        _SectionView(
            section.title, section.sentences, tuple(figure.result() for figure in figures), section.parts
        )
        for section, figures in zip(sections, drawn, strict=True)
    ]
    return fill_template(
        "analysis_page.html",
        interactive=any(view.views for view in views),
        # What `let_zoom` and the box plots put into a chart.
        zooms=any('"bind":"scales"' in figure.chart for view in views for figure in view.views),
        words=choose_words([title, *lead_sentences, *warnings, *_list_texts(views)]),
        title=title,
        lead=tuple(lead_sentences),
        sections=views,
        warnings=tuple(finish_sentence(warning) for warning in warnings),
    )


def _list_texts(views: Sequence[_SectionView]) -> list[str]:
    """What a reader sees of sections, for the words in it."""
    texts: list[str] = []
    for view in views:
        texts += view.sentences
        for figure in view.views:
            texts += [figure.title, figure.caption]
        texts.append(render_text(view.parts))
    return texts
