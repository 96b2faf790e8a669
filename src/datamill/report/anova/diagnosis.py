"""Whether the linear model's assumptions hold, in plain words, and which result to trust."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks, CheckResult, CheckState
from datamill.experiment.messages.numbers import format_p
from datamill.experiment.messages.phrases import finish_sentence

_SIGNS: dict[CheckState, str] = {"held": "✓", "harmless": "≈", "failed": "✗", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One assumption: how it fared, as a sign and in sentences, and how that was tested."""

    state: CheckState
    sign: str
    text: str
    method: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the checks say together; `advice` says which result to trust.

    With `hint` neither result is more than a hint. With `failed` or `doubtful` the quantile
    regression belongs beside the means.
    """

    failed: bool
    doubtful: bool
    hint: bool
    headline: str
    advice: str
    lines: tuple[CheckLine, ...]


def diagnose_model(checks: AssumptionChecks | None) -> Diagnosis | None:
    """Put checks of assumptions into words; None where there is no model."""
    if checks is None:
        return None
    if not checks.checks:
        why = " ".join(finish_sentence(warning) for warning in checks.warnings)
        return Diagnosis(False, False, False, "The linear model could not be checked.", why, ())
    lines = [_phrase_check(check) for check in checks.checks]
    if checks.influential is not None:
        state: CheckState = "failed" if checks.influential.influential else "held"
        lines.append(CheckLine(state, _SIGNS[state], finish_sentence(checks.influential.words), ""))
    count = sum(line.state == "failed" for line in lines)
    if count:
        headline = f"{'One thing' if count == 1 else f'{count} things'} that the linear model needs "
        headline += "does not hold." if count == 1 else "do not hold."
    elif checks.trust == "means":
        headline = "The means can be trusted."
    else:
        headline = "The means can be trusted, but they are not the whole story."
    return Diagnosis(
        failed=count > 0,
        doubtful=checks.trust != "means",
        hint=checks.trust == "neither",
        headline=headline,
        advice=checks.advice,
        lines=tuple(lines),
    )


def _phrase_check(check: CheckResult) -> CheckLine:
    text = finish_sentence(check.words or f"{check.assumption}: {check.state}")
    if check.advice:
        text += f" {finish_sentence(check.advice)}"
    return CheckLine(check.state, _SIGNS[check.state], text, f"{check.method}: p = {format_p(check.p)}")
