"""What became of the hidden factors, in words."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.design.design import DesignFactor
from datamill.experiment.factors.catalogue import FACTORS, USUAL_FACTORS


def phrase_treatment(factor: DesignFactor, *, nested: bool = False) -> str:
    """Return what is done with a factor, such as `fixed at on`.

    `nested` says that builds are repeated, with draws of their own.
    """
    known = FACTORS.get(factor.name)
    unit = "build" if nested and factor.build else "trial"
    if len(factor.levels) == 1 and known is not None and factor.levels[0] in known.drawn:
        return f"{factor.levels[0]}, another one in each {unit}"
    if factor.drawn_from:
        return f"drawn for each {unit} from {factor.drawn_from}"
    if len(factor.levels) == 1:
        return f"fixed at {factor.levels[0]}"
    return f"varied over {', '.join(factor.levels)}"


def list_drawn_factors(factors: Sequence[DesignFactor]) -> tuple[str, ...]:
    """Return the factors whose levels chance draws, for each trial or each build."""
    return tuple(factor.name for factor in factors if _is_drawn(factor))


def _is_drawn(factor: DesignFactor) -> bool:
    known = FACTORS.get(factor.name)
    single = factor.levels[0] if len(factor.levels) == 1 else ""
    return bool(factor.drawn_from) or (known is not None and single in known.drawn)


def list_unsettled_factors(factors: Sequence[DesignFactor]) -> tuple[str, ...]:
    """Return the usual hidden factors that a design neither varies nor fixes nor draws at random."""
    names = {factor.name for factor in factors}
    return tuple(name for name in USUAL_FACTORS if name not in names)
