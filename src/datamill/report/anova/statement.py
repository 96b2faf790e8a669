"""The analysis of variance as a statement, its table as thesis Table 1.3."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.interval import Interval
from datamill.analysis.levels.level_changes import LevelChanges
from datamill.analysis.linear.linear_model import LinearModel, TermRow
from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.messages.numbers import (
    count_decimals,
    count_mantissa_decimals,
    format_count,
    format_exponent,
    format_figures,
    format_fixed,
    format_given,
    format_level,
    format_p,
    is_beyond_decimals,
)
from datamill.report.anova.answer import state_answer, word_changes
from datamill.report.anova.scale import (
    choose_model_scale,
    name_square,
    scale_model,
    scale_quantile_effects,
)
from datamill.report.anova.sections import (
    format_square,
    state_blocks,
    state_checks,
    state_holm,
    state_quantiles_beside,
    state_reduced,
    state_shares,
)
from datamill.report.changes.mattered import phrase_hidden_bound
from datamill.report.changes.statement import state_adjusted_means, state_changes
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Layout, Table, build_table
from datamill.report.tables.text import WIDTH
from datamill.report.words.term_names import spell_linear_terms, spell_quantile_terms

#: Room for a number, with the blanks before it.
_NUMBER = 12
_COLUMNS = (_NUMBER, _NUMBER, _NUMBER, 13, 6, 11, 10)

#: A name and the cells to its right.
Line = tuple[str, ...]


def state_anova(
    observations: Observations,
    model: LinearModel,
    checks: AssumptionChecks | None,
    quantiles: QuantileModel | None = None,
    changes: LevelChanges | None = None,
    *,
    reduced: bool = False,
    verbose: bool = False,
) -> tuple[Part, ...]:
    """State a model: estimates, tests, equation, shares, checks, warnings.

    Numbers are in the unit with the prefix that suits the mean; the heading names it.

    Terms with one degree of freedom show their coefficient (half the change from the low to the high
    level, or a covariate's slope); factors with more levels show each level's deviation from the grand
    mean on lines of its own. With `reduced` the table has mean squares and p-values alone. `verbose` adds
    half-changes as shares of the mean.
    """
    said = state_answer(observations, model, checks, quantiles, changes)
    scale = choose_model_scale(model, observations.unit)
    model = spell_linear_terms(scale_model(model, scale.factor))
    unit = f" ({scale.unit})" if scale.unit else ""
    if reduced:
        squares = [format_square(row.mean_sq) for row in model.terms]
        table = state_reduced(model, [*squares, format_square(model.error_ms)])
    else:
        table = [_tabulate(_list_rows(model))]
    parts: list[Part] = [Paragraph(sentence, "  ") for sentence in said]
    if changes is not None and changes.changes:
        wording = word_changes(changes, model, observations.response, observations.unit)
        parts += [BLANK, *state_changes(changes.means, changes.changes, wording)]
    elif not model.transform:
        parts += state_adjusted_means(model, observations.response, scale.unit)
    title = Heading(f"Analysis of variance of {observations.response}{unit}")
    parts += [BLANK, title, BLANK, *table, BLANK]
    parts += _state_equation(observations.response, model)
    square = name_square(scale.unit)
    error = f"{format_square(model.error_ms)} {square}".rstrip()
    parts.append(
        f"R^2 = {format_fixed(model.r_squared, 6)}   n = {format_count(model.n)}   error mean square = "
        f"{error}"
    )
    if model.error_df and not model.misfits:
        parts += [BLANK, Paragraph(phrase_hidden_bound(model))]
    parts += state_blocks(model, square)
    if verbose or changes is None or not changes.changes:
        parts += [BLANK, *state_shares(model)]
    else:
        parts += state_holm(model)
    if checks is not None:
        parts += [BLANK, *state_checks(checks)]
    if quantiles is not None and checks is not None:
        beside = spell_quantile_terms(scale_quantile_effects(quantiles, scale.factor))
        warnings = list_quantile_warnings(quantiles, observations.response, observations.unit)
        parts += [BLANK, *state_quantiles_beside(model, beside, checks, warnings)]
    return (*parts, BLANK, *_state_notes(observations, model, checks, changes))


def _list_rows(model: LinearModel) -> list[Line]:
    level = format_level(model.confidence)
    rows: list[Line] = [
        ("Factor", f"Low {level}", "Estimate", f"High {level}", "Sum Sq.", "df", "F", "p-value"),
        ("(mean)", *_format_estimate(model.mean, _choose_decimals([model.mean]))),
    ]
    # A slope is per unit of its covariate: it keeps its own figures and leaves the others theirs.
    slopes = {item.term for item in model.coefficients if _is_slope(item.term, model)}
    effects = [item.value for item in model.coefficients if item.term not in slopes]
    effects += [effect.value for row in model.terms for effect in row.effects]
    decimals = _choose_decimals(effects) if effects else 0
    single = {item.term: item.value for item in model.coefficients if item.name == item.term}
    # Blocks have no estimate of interest: they stand apart, below.
    for row in (*model.effects_of_interest, *(row for row in model.terms if row.block)):
        if row.block:
            rows.append((f"{row.term.name} (block)", "", "", "", *_format_test(row)))
            continue
        value = single.get(row.term.name)
        estimate: Line = ("", "", "")
        if value is not None:
            own = _choose_decimals([value]) if row.term.name in slopes else decimals
            estimate = _format_estimate(value, own)
        rows.append(
            (
                row.term.name,
                *estimate,
                *_format_test(row),
            )
        )
        if value is None:
            for effect in row.effects:
                rows.append((f"  {effect.levels[0]}", *_format_estimate(effect.value, decimals)))
    rows.append(("Error", "", "", "", format_square(model.error_ss), str(model.error_df)))
    rows.append(("Total", "", "", "", format_square(model.total_ss), str(model.n - 1)))
    return rows


def _state_notes(
    observations: Observations,
    model: LinearModel,
    checks: AssumptionChecks | None,
    changes: LevelChanges | None,
) -> list[Part]:
    """What a reader must know about the numbers: method, coding, what was left out, warnings."""
    texts = [f"Method: {model.method}."]
    if model.covariates:
        means = ", ".join(f"{item.name} from {format_figures(item.mean, 10)}" for item in model.covariates)
        texts.append(f"Covariates are counted from their means: {means}.")
    coding = "; ".join(
        f"{factor.name} {factor.levels[0]} / {factor.levels[1]}"
        for factor in model.factors
        if len(factor.levels) == 2
    )
    if coding:
        shown = changes is not None and changes.changes
        whole = "; the means by level above show the whole change" if shown else ""
        texts.append(
            f"Low / high level: {coding}; estimates in the table are half-changes, half of what "
            f"lies between low and high{whole}."
        )
    parts: list[Part] = [Paragraph(text, "  ") for text in texts]
    parts += list_left_out(observations.excluded, observations.put_aside)
    texts = []
    if observations.averaged:
        texts.append(
            f"{observations.averaged} trials have several observations, which were averaged first: those "
            "inside one trial are not replicates."
        )
    if observations.averaged_builds:
        texts.append(
            f"{observations.averaged_builds} builds have several executions, which were averaged first: "
            "those of one build are not replicates, so that observations are build means."
        )
    # What the checks found stands above, unless they could not be made.
    unmade = checks.warnings if checks is not None and not checks.checks else ()
    texts += [f"Warning: {warning}." for warning in (*model.warnings, *unmade)]
    return [*parts, *(Paragraph(text, "  ") for text in texts)]


def _tabulate(rows: list[Line]) -> Table:
    """The table, its first row a header; a cell that is too wide widens its column, not its neighbour."""
    widths = [
        max(width, 2 + max(len(row[index]) for row in rows if index < len(row)))
        for index, width in enumerate(_COLUMNS, start=1)
    ]
    layout = Layout(tuple(widths), max(WIDTH - sum(widths), len("(mean)")), rule=WIDTH)
    return build_table(rows[0], rows[1:], layout=layout)


def _choose_decimals(shown: Sequence[Interval]) -> int:
    """Decimals for these estimates: five figures of the smallest error or what the columns hold.

    Two figures of the error are shown whatever the width.
    """
    smallest = min(item.high - item.low for item in shown) / 2
    widest = max(
        len(format_fixed(bound, 0)) for item in shown for bound in (item.low, item.estimate, item.high)
    )
    room = max(0, _NUMBER - 2 - widest)
    if smallest <= 0:
        return min(room, 7)
    return max(min(room, count_decimals(smallest, digits=5)), count_decimals(smallest, digits=2))


def _format_estimate(value: Interval, decimals: int) -> Line:
    shown = (value.low, value.estimate, value.high)
    # Beyond what a double resolves or a line holds, exponents, with the digits that tell them apart.
    if max(abs(number) for number in shown) >= 1e15 or 0 < value.high - value.low < 1e-9:
        return tuple(format_exponent(number, _count_digits(value)) for number in shown)
    return tuple(format_fixed(number, decimals) for number in shown)


def _count_digits(value: Interval) -> int:
    """Decimals of a mantissa that show two figures of the error."""
    largest, error = max(abs(value.low), abs(value.high)), (value.high - value.low) / 2
    return 5 if error <= 0 else count_mantissa_decimals(largest, error)


def _format_test(row: TermRow) -> Line:
    f = "-" if row.f is None else format_figures(row.f, 6)
    return format_square(row.sum_sq), str(row.term.df), f, format_p(row.p, "-")


def _state_equation(response: str, model: LinearModel) -> list[Part]:
    """Equation (1.2): the mean and the terms with p below alpha, coefficients of the full model."""
    kept = {row.term.name for row in model.terms if model.detects_alone(row)}
    slopes = {item.term for item in model.coefficients if _is_slope(item.term, model)}
    plain = [item.standard_error for item in model.coefficients if item.term not in slopes]
    smallest = min(plain, default=(model.mean.high - model.mean.low) / 4)
    parts = [f"{response} = {_format_coefficient(model.mean.estimate, smallest)}"]
    single = {item.term: item.value.estimate for item in model.coefficients if item.name == item.term}
    for row in model.effects_of_interest:
        name = row.term.name
        if name not in kept:
            continue
        if name in single:
            size = abs(single[name])
            shown = format_figures(size, 6) if name in slopes else _format_coefficient(size, smallest)
            parts.append(f"{'−' if single[name] < 0 else '+'} {shown} {_centre_names(row.term, model)}")
        else:
            parts.append(f"+ [{name}]")
    note = f"(terms with p < {format_given(model.alpha)})"
    if any(part.startswith("+ [") for part in parts):
        note = f"(terms with p < {format_given(model.alpha)}; [factor] stands for the effect of its level)"
    return [Paragraph(" ".join(parts), "    "), Paragraph(note)]


def _format_coefficient(value: float, error: float) -> str:
    """Three figures of the error; with an exponent where decimals would round it to nothing."""
    if is_beyond_decimals(error):
        return format_exponent(value, count_mantissa_decimals(value, error))
    return format_fixed(value, count_decimals(error, digits=3) if error > 0 else 6)


def _is_slope(name: str, model: LinearModel) -> bool:
    """Whether a term is per unit of a covariate, and so of any size."""
    return any(row.term.name == name and row.term.covariates for row in model.terms)


def _centre_names(term: Term, model: LinearModel) -> str:
    """The term's name, its covariates as they count: from their means."""
    factors = [model.factors[index].name for index in term.factors]
    covariates = [model.covariates[index] for index in term.covariates]
    return " × ".join([*factors, *(f"({item.name} {_minus(item.mean)})" for item in covariates)])


def _minus(mean: float) -> str:
    return f"{'+' if mean < 0 else '−'} {format_figures(abs(mean), 10)}"
