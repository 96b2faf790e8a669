"""What pages and their sentences say: what is trusted, what was not shown, and what words mean."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import datamill
from datamill.report.page.frame import keep_whole
from datamill.report.quantiles.figures import draw_effects_by_quantile
from datamill.report.words.glossary import choose_words, format_glossary, read_words
from datamill.verbs.anova import Anova

CELLS = 4


def make_table(spreads: list[float], replicates: int, *, step: float = 0.0, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    cell = np.repeat(np.arange(CELLS), replicates)
    noise = random.standard_t(2.5, cell.size) if step else random.normal(size=cell.size)
    values = 50 + step * (cell // 2) + np.asarray(spreads)[cell] * noise
    return pl.DataFrame(
        {
            "tool": [("old", "new")[code] for code in cell // 2],
            "flag": [("-g", "-O2")[code] for code in cell % 2],
            "seconds": values,
        }
    )


def analyze(table: pl.DataFrame, **options: object) -> Anova:
    return datamill.anova(table, response="seconds", factors=["tool", "flag"], **options)  # type: ignore[arg-type]


def find_spread(table: pl.DataFrame, alpha: float) -> tuple[str, str]:
    check = next(
        item for item in analyze(table, alpha=alpha).checks.checks if item.assumption == "equal variances"
    )
    return check.state, check.words


def test_equal_spread_is_never_claimed_only_that_no_difference_was_detected() -> None:
    state, words = find_spread(make_table([1, 1, 1, 1], 30), 0.01)
    assert state == "held"
    assert words.startswith("no difference in spread was detected (standard deviation ")


def test_weak_evidence_of_unequal_spread_is_unclear_and_becomes_a_failure_at_a_larger_alpha() -> None:
    table = make_table([1, 1, 1, 6], 6, seed=1)
    check = next(c for c in analyze(table).checks.checks if c.assumption == "equal variances")
    assert check.p < 0.05
    state, words = find_spread(table, check.p / 2)
    assert (state, "looks unequal" in words) == ("unknown", True)
    assert find_spread(table, 2 * check.p)[0] == "failed"


def test_a_page_whose_model_fails_says_what_quantiles_do_beside_the_change_of_means() -> None:
    result = analyze(make_table([1, 1, 12, 12], 60, step=40.0))
    assert result.checks.trust == "quantiles"
    # Means with each level's own variance, as of every other verb, need no equal spread.
    assert " matters: at " in result.lead[0]
    assert any("quantile of seconds by" in sentence for sentence in result.lead)
    assert result.lead[-1] == result.checks.advice
    assert result.text().lstrip().startswith(result.lead[0][:40])


def test_the_checks_of_a_page_never_tell_to_trust_what_its_advice_calls_a_hint() -> None:
    result = analyze(make_table([1, 1, 1, 60], 5, step=400.0))
    assert result.checks.trust == "neither"
    assert "trust the quantile" not in " ".join(result.warnings).lower()
    assert result.lead[0].startswith("A hint only")


def test_a_page_comes_without_the_figure_that_cannot_be_drawn_and_says_why() -> None:
    random = np.random.default_rng(0)
    size = random.uniform(1, 9, 40)
    table = pl.DataFrame({"size": size, "seconds": size + random.normal(size=40)})
    result = datamill.anova(table, formula="seconds ~ size")
    assert result.figures()[0].name == "diagnostics"
    assert "A figure is left out: no effect can be drawn as share of the mean" in result.page()


def test_too_many_groups_to_draw_leave_a_summary_page_with_its_numbers() -> None:
    table = pl.DataFrame({"id": [f"g{i}" for i in range(200)], "seconds": np.arange(200.0)})
    result = datamill.summary(table, response="seconds", factors=["id"])
    assert result.figures() == ()
    assert "200 groups in 1 panels cannot be read" in result.page()


def test_the_three_figures_of_a_summary_say_what_they_are() -> None:
    result = datamill.summary(make_table([1] * 4, 9), response="seconds", factors=["tool", "flag"])
    titles = [figure.title for figure in result.figures()]
    assert titles == [
        "Box plots of seconds by tool and flag",
        "Distribution functions of seconds",
        "Histograms of seconds",
    ]


def test_a_quantile_panel_has_axes_of_its_own_and_the_name_that_tables_use() -> None:
    result = datamill.quantiles(make_table([1] * 4, 40), response="seconds", factors=["tool", "flag"])
    chart = draw_effects_by_quantile(result.observations, result.model).chart
    assert [panel["title"]["text"] for panel in chart["concat"]] == [
        "intercept",
        "tool",
        "flag",
        "tool × flag",
    ]


def test_variability_leads_with_its_size_where_no_factor_is_shown_to_change_it() -> None:
    result = datamill.variability(make_table([1] * 4, 3), response="seconds", factors=["tool", "flag"])
    assert result.lead[0].startswith("Coefficients of variation of seconds range from")
    assert any(sentence.startswith("No effect of") for sentence in result.lead[1:])


def test_a_coefficient_of_variation_known_within_a_factor_of_ten_at_best_is_warned_of() -> None:
    result = datamill.variability(make_table([1] * 4, 2), response="seconds", factors=["tool", "flag"])
    assert any("spans more than a factor of 10" in warning for warning in result.warnings)


def test_a_word_with_a_hyphen_stays_whole_and_escaped() -> None:
    assert str(keep_whole("that of -g <b>")) == 'that of <span class="whole">-g</span> &lt;b&gt;'
    assert str(keep_whole("x" * 30 + "-y")) == "x" * 30 + "-y"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Hodges-Lehmann shift", "shift"),
        ("3 strata", "strata"),
        ("Cook's distance 2", "cook"),
        ("QCD", "qcd"),
        ("impact factor", "impact"),
        ("equation 17", "paper"),
        ("R^2 = 0.9", "r-squared"),
        ("Sum Sq.", "squares"),
        ("59 df", "df"),
        ("power 90%", "power"),
    ],
)
def test_a_page_explains_the_words_that_it_uses_and_no_others(text: str, key: str) -> None:
    assert [word.key for word in choose_words([text])] == [key]


def test_each_word_has_one_meaning_one_sentence_long_and_its_place_on_a_page() -> None:
    words = read_words()
    assert len({word.key for word in words}) == len({word.title for word in words}) == len(words)
    assert not [word.key for word in words if not word.short.endswith(".") or ". " in word.short]


def test_the_code_that_the_glossary_names_is_there() -> None:
    root = Path(__file__).parents[4]
    named = {path for word in read_words() for path in re.findall(r"`([\w/.]+/[\w.]*)`", word.code)}
    assert len(named) > 40
    places = (root, root / "src/datamill")
    assert not [path for path in sorted(named) if not any((place / path).exists() for place in places)]


def test_the_glossary_of_the_documentation_is_the_one_that_pages_explain() -> None:
    written = (Path(__file__).parents[4] / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert written == format_glossary(), "run: make glossary"


@pytest.mark.parametrize("verb", ["anova", "quantiles", "tests", "variability", "summary"])
def test_the_numbers_of_a_page_do_not_say_the_answer_again(verb: str) -> None:
    table = make_table([1] * 4, 30)
    result = getattr(datamill, verb)(table, response="seconds", factors=["tool", "flag"])
    numbers = result.page().partition(">The numbers</h2>")[2].partition(">Words on this page<")[0]
    words = " ".join(result.lead[0].split()[:7])
    assert words in " ".join(result.text().split())
    assert words not in " ".join(numbers.split())
    assert len(numbers.splitlines()) > 5


@pytest.mark.parametrize("step", [60.0, 0.4, 1e5])
def test_a_change_is_never_written_with_an_exponent(step: float) -> None:
    random = np.random.default_rng(4)
    tool = np.repeat([-0.5, 0.5], 30)
    # The mean stays 50, a large step aside, which turns the sign of the lower level.
    values = 50 + step * tool + random.normal(size=60) * min(step / 20, 1)
    size = random.uniform(0, 1, 60)
    table = pl.DataFrame({"tool": np.where(tool < 0, "a", "b"), "seconds": values, "size": size})
    for covariates in ((), ("size",)):
        lead = datamill.anova(table, response="seconds", factors=["tool"], covariates=covariates).lead
        assert "tool" in lead[0]
        assert not any("e+" in sentence for sentence in lead)
