"""Columns that tell rows apart, which were named as factors."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from datamill.analysis.model_data.cells import Cells
from datamill.analysis.model_data.coding import Term
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures

#: A factor with more levels than this, and fewer than two observations at each, is an identifier. With fewer
#: levels a table of single observations can still be read.
_MOST_SINGLE_LEVELS = 1000
#: A model asks about a factor with more levels than this and fewer observations at each than that.
_MOST_MEANT, _FEWEST_AT_EACH = 200, 4


def refuse_identifiers(cells: Cells, other: Collection[str], source: str) -> None:
    """Refuse a factor that has about a level for each observation, such as a row's number or its time.

    Nothing can be learned of such levels, and to describe each of a million takes minutes. Not so
    `other`: blocks may have few observations each, as pairs have, and an experiment knows its factors.

    Raises:
        InputError: there is such a factor.
    """
    for factor in cells.factors:
        if factor.name not in other and _is_identifier(len(factor.levels), cells.n):
            raise _describe_identifier(factor.name, len(factor.levels), cells.n, source)


def refuse_identifier_columns(table: pl.DataFrame, factors: Sequence[str], source: str) -> None:
    """Refuse such factors of a plain table before a million levels are put into their order.

    It looks no further than the first rows of a column that repeats itself there.

    Raises:
        InputError: there is such a factor.
    """
    if table.height <= _MOST_SINGLE_LEVELS:
        return
    first = table.head(2 * _MOST_SINGLE_LEVELS + 1)
    for name in factors:
        kind = table.schema.get(name)
        if kind is None or kind.is_nested() or not _is_identifier(first[name].n_unique(), first.height):
            continue
        count = table[name].n_unique()
        if _is_identifier(count, table.height):
            raise _describe_identifier(name, count, table.height, source)


def ask_about_identifiers(cells: Cells, terms: Sequence[Term], other: Collection[str], source: str) -> None:
    """Refuse a model with a factor of many levels and few observations at each, unless it was meant.

    Such as the number of a run or a user: each level takes a coefficient, so that fitting takes minutes, and
    of two observations at each little is learned. Not so `other`: blocks, factors of an experiment, and what
    a formula calls levels.

    Raises:
        InputError: there is such a factor; asks whether it is one.
    """
    for index in sorted({index for term in terms for index in term.factors}):
        factor = cells.factors[index]
        count = len(factor.levels)
        if factor.name in other or count <= _MOST_MEANT or cells.n >= _FEWEST_AT_EACH * count:
            continue
        raise InputError(
            f"{factor.name} has {count} levels with {format_figures(cells.n / count, 2)} observations at "
            "each: does it tell "
            "runs or users apart, rather than being a factor?",
            where=source,
            remedy=f"If so, leave it out, make it a block ({argument('blocks')}) if observations at the "
            "same level are "
            f"alike, or name its numbers with {argument('covariates')}. If it is a factor, say so in a "
            "formula with "
            f"C({factor.name}); that may take minutes.",
        )


def _is_identifier(levels: int, observations: int) -> bool:
    return levels > _MOST_SINGLE_LEVELS and 2 * levels > observations


def _describe_identifier(name: str, levels: int, observations: int, source: str) -> InputError:
    return InputError(
        f"{name} has {levels} levels in {observations} observations: it tells observations apart, and is "
        "not a factor whose levels could be described or compared",
        where=source,
        remedy="Leave it out of the factors. Numbers that explain the response are covariates (anova, "
        f"quantiles: {argument('covariates')}).",
    )
