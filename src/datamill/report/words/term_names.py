"""Names of terms as people read them, `a × b`: formulas, JSON and CSV have `a:b`."""

from __future__ import annotations

import re
from dataclasses import replace

from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.coding import Term
from datamill.analysis.quantile.quantile_model import QuantileModel

_SIGN = " × "
#: A colon between two names of factors, which hold none themselves.
_COLON = re.compile(r"(?<=[^\s:]):(?=[^\s:])")


def spell_term(name: str) -> str:
    """`a × b` for the term `a:b`; a name that is spelled already stays as it is."""
    return name.replace(":", _SIGN)


def spell_coefficient(name: str, term: str) -> str:
    """`a × opt (-O0)` for the coefficient `a:opt[-O0]` of the term `a:opt`."""
    level = name.removeprefix(term)
    return f"{spell_term(term)} ({level[1:-1]})" if level.startswith("[") else f"{spell_term(term)}{level}"


def spell_terms_of_design(sentence: str) -> str:
    """A sentence of a design about its terms (aliases, generators), with each term as people read it."""
    return _COLON.sub(_SIGN, sentence)


def spell_linear_terms(model: LinearModel) -> LinearModel:
    """The model with the names of its terms and coefficients as people read them."""
    return replace(
        model,
        coefficients=tuple(
            replace(item, name=spell_coefficient(item.name, item.term), term=spell_term(item.term))
            for item in model.coefficients
        ),
        terms=tuple(replace(row, term=_spell(row.term)) for row in model.terms),
        shares=tuple(replace(share, term=spell_term(share.term)) for share in model.shares),
    )


def spell_quantile_terms(model: QuantileModel) -> QuantileModel:
    """As `spell_linear_terms`, of a quantile model."""
    return replace(
        model,
        terms=tuple(_spell(term) for term in model.terms),
        fits=tuple(
            replace(
                fit,
                coefficients=tuple(
                    replace(item, name=spell_coefficient(item.name, item.term), term=spell_term(item.term))
                    for item in fit.coefficients
                ),
                changes=tuple(
                    replace(item, name=spell_coefficient(item.name, item.term), term=spell_term(item.term))
                    for item in fit.changes
                ),
                terms=tuple(replace(item, term=_spell(item.term)) for item in fit.terms),
            )
            for fit in model.fits
        ),
    )


def _spell(term: Term) -> Term:
    return replace(term, name=spell_term(term.name))
