"""From a bundle's records to its table, its answer and its report page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.replaced_file import replace_file
from datamill.results.bundles.trial_summary import list_problems
from datamill.verbs.answer import ExperimentAnswer, answer_records


@dataclass(frozen=True, slots=True, eq=False)
class BundleReport:
    """What a bundle says, as its report page has it.

    `problems` need attention, one sentence each: planned trials that gave no usable observation of the
    experiment's responses.
    """

    bundle: Bundle
    answered: ExperimentAnswer
    problems: tuple[str, ...]


def report_bundle(
    bundle: Bundle, records: Sequence[TrialRecord], *, always_csv: bool = False
) -> BundleReport:
    """Write table and report of a bundle, and return what they say.

    Raises:
        InputError: the log is damaged.
        OSError: when the disk is full or the folder cannot be written; the old files stay.
    """
    table = bundle.write_table(records, always_csv=always_csv)
    answered = answer_records(bundle, records, table)
    replace_file(bundle.report_file, [answered.report().encode()])
    problems = list_problems(answered.trials, answered.analysis.table, bundle)
    return BundleReport(bundle, answered, tuple(problems))
