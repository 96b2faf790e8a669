"""Whether a model has the terms that its data call for: lack of fit against the error within cells."""

from __future__ import annotations

from datamill.analysis.assumptions.assumption_checks import CheckResult, CheckState
from datamill.analysis.linear.linear_model import LinearModel
from datamill.experiment.messages.numbers import format_fixed, say_p

#: Name of this assumption.
COMPLETE = "complete model"
#: A model that leaves out less of the variation between cells than this part describes them well.
_HARMLESS_SHARE = 0.01


def check_fit(model: LinearModel) -> CheckResult | None:
    """Test lack of fit; None where the model has every term, or nothing repeats to judge it by.

    Its size is the part of the variation between cells, beyond what error makes, that the model leaves
    out.
    """
    lack = model.lack_of_fit
    if lack is None or lack.sum_sq == 0:
        return None
    # Without any error within cells what is lacking is beyond all doubt.
    p = 0.0 if lack.p is None else lack.p
    pure_ss = model.error_ss - lack.sum_sq
    pure_ms = pure_ss / model.pure_error_df
    between = model.total_ss - pure_ss - (model.n - 1 - model.pure_error_df) * pure_ms
    left_out = max(lack.sum_sq - lack.df * pure_ms, 0.0)
    share = min(left_out / between, 1.0) if between > 0 else 1.0
    state: CheckState = "held"
    words, advice = "nothing speaks for terms that the model leaves out", ""
    if p < model.alpha:
        state = "harmless" if share < _HARMLESS_SHARE else "failed"
        amount = "less than 1" if state == "harmless" else format_fixed(100 * share, 0)
        words = (
            f"the model leaves out terms that are there (lack of fit, {say_p(p)}), with {amount}% of "
            "what differs between combinations of levels"
        )
    if state == "failed":
        advice = "Add interactions, or terms of covariates"
    method = f"lack of fit, F on {lack.df} and {model.pure_error_df} df"
    return CheckResult(
        COMPLETE, method, lack.f, p, state, share, "share of the variation between cells", words, advice
    )
