"""From a bundle's records to its table and its report page."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.replaced_file import replace_file
from datamill.verbs.answer import ExperimentAnswer, answer_records


def write_report(
    bundle: Bundle, records: Sequence[TrialRecord], *, always_csv: bool = False
) -> ExperimentAnswer:
    """Write table and report of a bundle, and return what they say.

    Raises:
        InputError: the log is damaged.
        OSError: when the disk is full or the folder cannot be written; the old files stay.
    """
    table = bundle.write_table(records, always_csv=always_csv)
    answered = answer_records(bundle, records, table)
    replace_file(bundle.report_file, [answered.report().encode()])
    return answered
