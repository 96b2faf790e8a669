"""Who hears how an experiment goes on, from its question to its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from datamill.conduct.running.run_bundle import RunListener
from datamill.results.bundles.bundle import Bundle
from datamill.results.judgement.failing_packages import StoppedPackage

if TYPE_CHECKING:
    # Brings statistics along, which a trial need not wait for.
    from datamill.conduct.report_bundle import BundleReport


class ExperimentListener(RunListener, Protocol):
    """Hears how an experiment goes on, such as a terminal; never while a trial runs.

    What of the host is not as it was (`tell_unrestored`) it hears a second time when everything has ended.
    """

    def tell_follow_up(self, decisions: Sequence[str]) -> None:
        """What became of the factors of a screening, line by line."""
        ...

    def tell_notes(self, notes: Sequence[str]) -> None:
        """What of the question is not followed or not checked on this machine, one sentence each."""
        ...

    def tell_doubts(self, doubts: Sequence[str]) -> None:
        """What is allowed and yet may disappoint, one sentence each."""
        ...

    def tell_waiting(self, sentence: str) -> None:
        """What is waited for before the host is free."""
        ...

    def begin_run(self, bundle: Bundle) -> None:
        """The bundle is there, and its trials follow."""
        ...

    def tell_unsound(self) -> None:
        """A trial showed that the question cannot be answered as it stands: the bundle is of no use."""
        ...

    def tell_stopped(self) -> None:
        """The trials ended early; what was measured is kept, and the bundle can go on."""
        ...

    def tell_ended(self, stopped: Sequence[StoppedPackage]) -> None:
        """All trials ended but the left-out ones of stopped packages; the analysis begins."""
        ...

    def tell_report(self, report: BundleReport) -> None:
        """What the experiment says; table and report are written."""
        ...
