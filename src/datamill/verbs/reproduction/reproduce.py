"""`reproduce`: whether an experiment that was run again gave the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from datamill.analysis.reproduction.reproduce import ExecutedExperiment, judge_reproduction
from datamill.analysis.reproduction.reproduction import USUAL_ALPHA, USUAL_MARGIN, Reproduction
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import parse_share
from datamill.report.figures.figure import Figure
from datamill.report.reproduction.answer import phrase_verdict
from datamill.report.reproduction.figure import draw_reproduction
from datamill.report.reproduction.json import spell_reproduction
from datamill.report.reproduction.statement import state_reproduction
from datamill.report.tables.statement import Part
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.reading import open_bundle_folder
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_alpha
from datamill.verbs.inputs.data import locate_errors


@dataclass(frozen=True, slots=True, eq=False)
class Reproduce(Analysis):
    """Whether the result of one bundle was reproduced by another."""

    found: Reproduction

    @property
    def title(self) -> str:
        """What was judged."""
        return f"{self.found.response}, run again"

    @property
    def lead(self) -> tuple[str, ...]:
        """The verdict, and each effect before and after."""
        return phrase_verdict(self.found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the verdict."""
        return self.found.warnings

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The sentences and the table of effects; `verbose` is the same."""
        del verbose
        return state_reproduction(self.found)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_reproduction(self.found)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The effects of both, and their changes against the margin; none where there is no effect."""
        return (partial(draw_reproduction, self.found),) if self.found.effects else ()


def reproduce(
    original: str | Path,
    rerun: str | Path,
    *,
    margin: str | float = USUAL_MARGIN,
    alpha: float = USUAL_ALPHA,
) -> Reproduce:
    """Say whether the bundle `rerun` has the result of the bundle `original`, by equivalence of effects.

    Each is the folder of a bundle, or an RO-Crate of one.
    `margin` is the share by which a ratio may differ and still be the same result, to be chosen before the
    re-run; `alpha` is the rate of either mistake.

    Raises:
        InputError: a path is no bundle, or the two do not measure the same; says where and what to do.
    """
    share = parse_share(margin, where="margin")
    alpha = take_alpha(alpha)
    executions: list[ExecutedExperiment] = []
    seen: list[set[tuple[str, int]]] = []
    for name, given in (("original", original), ("re-run", rerun)):
        if not isinstance(given, (str, Path)):
            raise InputError(
                f"{type(given).__name__} is not the path of a bundle",
                where=name,
                remedy="Name the folder that datamill run made.",
            )
        with open_bundle_folder(Path(given)) as folder:
            bundle = open_bundle(folder)
            records = bundle.read_records()
            seen.append({(record.trial_id, record.started_unix_ns) for record in records})
            executions.append(
                ExecutedExperiment(bundle.experiment, bundle.design, bundle.build_table(records))
            )
    if common := len(seen[0] & seen[1]):
        raise InputError(
            f"both hold the same {count_nouns(common, 'trial')}: a re-run makes trials anew",
            where=str(rerun),
            remedy="Run the experiment again: datamill run with the bundle makes another one.",
        )
    with locate_errors(f"{original} and {rerun}"):
        found = judge_reproduction(*executions, margin=share, alpha=alpha)
    return Reproduce(found)
