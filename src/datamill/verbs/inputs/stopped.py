"""Bundles that were stopped by what was seen in them, and what that does to other intervals."""

from __future__ import annotations

from datamill.experiment.messages.arguments import command
from datamill.results.bundles.bundle import Bundle


def warn_of_stopping(bundle: Bundle) -> tuple[str, ...]:
    """Say that intervals which take the number of trials for fixed are too sure; empty where it was fixed."""
    if bundle.experiment.until is None or not bundle.read_decisions():
        return ()
    return (
        "p-values and intervals here are those of a fixed number of trials; this experiment stops by what "
        f"it sees, which makes them too sure: {command('report', bundle.folder)} has intervals that "
        "allow for it",
    )
