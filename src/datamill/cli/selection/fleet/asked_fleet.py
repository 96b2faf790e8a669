"""A coordinator that runs the experiments of a collection, as `submit`, `watch` and `fetch` do."""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.coordinator.event_stream import follow_experiment
from datamill.cli.fleet.fetch import fetch_bundle
from datamill.cli.fleet.submission.send_submission import send
from datamill.cli.fleet.submission.show_plan import print_plan
from datamill.cli.fleet.watch import FleetProgress
from datamill.conduct.fleet.pack_submission import pack_submission, request_submission
from datamill.conduct.fleet.take_home import TakenHome
from datamill.conduct.question.read_files import FoundExperiment
from datamill.experiment.errors import InputError
from datamill.protocol.api.experiments import ExperimentLine
from datamill.protocol.api.plans import SubmissionPlan


class AskedFleet:
    """Asks a coordinator, and shows on a console what is planned and how far it is."""

    def __init__(self, coordinator: CoordinatorClient, console: Console) -> None:
        self._coordinator, self._console = coordinator, console

    @property
    def url(self) -> str:
        """The coordinator's address."""
        return self._coordinator.url

    def choose_machine(self, found: FoundExperiment) -> str:
        """Return the machine that the coordinator would give an experiment.

        Raises:
            InputError: no machine of the fleet can have it.
        """
        with tempfile.TemporaryDirectory(prefix="datamill-submit-") as folder:
            body = request_submission(found, pack_submission(found, Path(folder)))
        plan = self._coordinator.post("/experiments/plan", SubmissionPlan, body)
        if not plan.workers:
            raise InputError("no machine of the fleet takes part", where=self.url)
        return plan.workers[0].name

    def submit(self, found: FoundExperiment) -> int:
        """Show the plan of an experiment, submit it, and return its number.

        Raises:
            InputError: the coordinator refuses, or no machine can have it.
        """
        with tempfile.TemporaryDirectory(prefix="datamill-submit-") as folder:
            packed = pack_submission(found, Path(folder))
            body = request_submission(found, packed)
            plan = self._coordinator.post("/experiments/plan", SubmissionPlan, body)
            # What is built or counted is not estimated: warnings about that are about nothing.
            shown = replace(plan, warnings=()) if plan.debug == "only" else plan
            print_plan(shown, self._console)
            body = replace(body, plan=plan.digest)
            number = send(self._coordinator, body, plan.missing_files, packed.archives, self._console).id
        told = f"Submitted as experiment {number}. It goes on by itself; this command takes it home."
        self._console.print(Text(told, style="green"))
        return number

    def find(self, name: str) -> int | None:
        """Return the number of the user's latest experiment of that name, or None."""
        lines = self._coordinator.get("/experiments", list[ExperimentLine], mine="true")
        return next((item.id for item in lines if item.name == name), None)

    def follow(self, number: int) -> None:
        """Show an experiment until it has ended."""
        with FleetProgress(self._console, number) as progress:
            for event in follow_experiment(self._coordinator, number, progress.tell):
                progress.show(event)

    def take(self, number: int, folder: Path) -> TakenHome:
        """Bring an experiment home as a bundle in a new folder."""
        return fetch_bundle(self._coordinator, number, folder)
