"""Names of terms and units of squares as people read them on the page of an experiment."""

from __future__ import annotations

import html
import re

import pytest
from made.answered_study import render_page
from made.page_study import make_study

from datamill.report.words.glossary import choose_words
from datamill.report.words.term_names import spell_coefficient, spell_term, spell_terms_of_design


@pytest.fixture(scope="module")
def shown() -> str:
    """What a reader sees of a page with quantile regression and the classical table."""
    page = render_page(*make_study(replicates=12, heavy=True))
    return html.unescape(re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))


def test_an_interaction_is_written_with_a_sign_of_multiplication_everywhere(shown: str) -> None:
    assert "package × optimization (-O0)" in shown
    assert not re.findall(r"(?:package|optimization|aslr):(?:package|optimization|aslr)", shown)
    assert "[-O0]" not in shown


def test_the_classical_table_is_in_the_unit_of_the_page(shown: str) -> None:
    table = shown.partition("The classical table")[2].partition("</table>")[0]
    assert "sum of squares in (MB/s)²" in table
    assert "mean square in (MB/s)²" in table
    assert not re.search(r"\de\+\d", table)


def test_every_column_of_the_page_has_a_name(shown: str) -> None:
    headers = re.findall(r'<th[^>]*scope="col">([^<]*)</th>', shown)
    assert len(headers) > 20
    assert all(headers)


@pytest.mark.parametrize(
    ("name", "term", "spelled"),
    [
        ("a:b", "a:b", "a × b"),
        ("opt[-O0]", "opt", "opt (-O0)"),
        ("a:opt[x:y,z]", "a:opt", "a × opt (x:y,z)"),
        ("intercept", "", "intercept"),
        ("a × b", "a × b", "a × b"),
        ("a × opt (-O0)", "a × opt", "a × opt (-O0)"),
    ],
)
def test_a_coefficient_is_spelled_once_and_its_levels_are_left_alone(
    name: str, term: str, spelled: str
) -> None:
    assert spell_coefficient(name, term) == spelled
    assert spell_term(spell_term(term)) == spell_term(term)


def test_a_sentence_on_aliases_keeps_its_own_colons() -> None:
    assert spell_terms_of_design("Cannot be told apart: a = b:c.") == "Cannot be told apart: a = b × c."


@pytest.mark.parametrize(
    ("text", "explained"),
    [
        ("tool × flag", True),
        ("a × b", True),
        ("version  l × m × n  mean", False),
        ("11 builds × 6 executions × 16 measurements", False),
    ],
)
def test_an_interaction_is_explained_where_one_stands_and_sizes_are_none(text: str, explained: bool) -> None:
    assert ("interaction" in [word.key for word in choose_words([text])]) == explained
