"""A coordinator with each text that users, packages and workers may send, and all that it then shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.contrib.auth.models import User
from integration.hostile.texts.inert import check_archive, find_problems
from integration.hostile.texts.marked_texts import Marks, Zeros
from integration.hostile.texts.told.bodies import find_bodies
from integration.hostile.texts.told.full_experiment import write_line, write_submission
from integration.hostile.texts.told.reports import list_messages, say_plain, vary_reports, write_report
from integration.hostile.texts.told.walked_records import vary_texts, write_texts
from integration.hostile.users.place import Place, count_writes
from integration.hostile.users.routes import ROUTES
from integration.hostile.users.samples import CHANGES, READS, Ask
from integration.service.fleets import START_S, list_leases, make_phase, make_record

from datamill.design.design import PlannedTrial
from datamill.protocol.fleet import ArtifactFile, WorkerReport
from datamill.service.coordinator.experiments.experiments import cancel_experiment
from datamill.service.coordinator.step import step
from datamill.service.models import (
    Artifact,
    Attempt,
    FleetExperiment,
    FleetWorker,
    Publication,
    StoredFile,
    Trial,
)

#: When the place was built, and all in it has happened.
_NOW_S = START_S + 1000.0
_FIGURE = "experiments/<int:experiment_id>/figures/<int:number>.<figure:kind>"
#: Address of a comparison -> its parameter that names an experiment.
_COMPARED = {
    "compare/results": "id", "compare/figures/<int:number>.<figure:kind>": "id",
    "api/compare": "experiment", "api/compare/figures/<number>.<kind>": "experiment",
}  # fmt: skip
#: Addresses that are asked apart, and the one that would take Ada's feed away.
_KEPT_APART = (
    "api/experiments", "api/experiments/plan", "api/experiments/<number>/publish", "api/notices",
)  # fmt: skip
#: Names of attempts: what is told of another one is passed over.
_PASSED_OVER = {"Output.attempt", "Taken.attempt", "Hello.attempts"}
#: What the machine tells of a lease, by its number; of all others a sound record.
_TOLD = {0: ("output", "gave_up"), 1: ("refused",), 2: ("output", "record"), 6: ("failed",), 7: ("record",)}


class Scene:
    """Sends texts, notes of each field whether it was refused, and reads whatever may show them."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.marks = Marks()
        self.refused: set[str] = set()
        self.taken: set[str] = set()
        self.seen: set[str] = set()
        self.problems: list[str] = []

    def send(self, route: str, body: Any, to: Mapping[str, str]) -> Any:
        """Send a body to an address of the API by POST, and look at the answer."""
        who = "root" if ROUTES[route][1] in ("admin", "machine") else "ada"
        answer, content = self.place.send(who, "POST", self.place.fill_route(route, to), body)
        self.look(f"POST {route}", answer, content)
        return answer

    def look(self, where: str, answer: Any, content: str) -> None:
        """Note what is wrong with an answer, and which fields are in it."""
        told = content.encode("latin-1").decode("utf-8", "replace")
        self.seen |= self.marks.find_fields(told)
        found = find_problems(answer.headers.get("Content-Type", ""), told, answer.headers)
        if answer.headers.get("Content-Type") == "application/zip" and answer.status_code == 200:
            found += check_archive(content.encode("latin-1"))
        self.problems += [f"{where}: {problem}" for problem in found]
        if answer.status_code >= 500:
            self.problems.append(f"{where}: answered with {answer.status_code}")

    def note(self, field: str, *, refused: bool) -> None:
        """Note what became of a field's text."""
        (self.refused if refused else self.taken).add(field)

    def try_bodies(self) -> None:
        """Send each field of each body with a text, all others sound, and put everything back."""
        for route, record in find_bodies().items():
            asked = CHANGES[route][0]
            for field, body in vary_texts(record, self.fill_body(asked), self.marks.write):
                written = count_writes()
                answer = self.send(route, body, asked.to)
                self.note(field, refused=answer.status_code >= 400)
                if count_writes() != written:
                    self.place.restore()

    def fill_body(self, asked: Ask) -> Any:
        """Return the sound body of a request, as JSON has it."""
        sent = self.place.fill(asked.sends)
        return json.loads(sent) if isinstance(sent, str) else sent

    def try_reports(self) -> None:
        """Tell each field of each report with a text, all others sound, and put everything back."""
        for field, report in self.vary_reports(self.marks):
            self.note(field, refused=bool(say_plain(self.find_worker(), report, _NOW_S)))
            self.place.restore()

    def vary_reports(self, marks: Marks | Zeros) -> Iterator[tuple[str, Any]]:
        """Yield each field of each report of the worker, with the report in which that alone is not sound."""
        artifact = self._find_artifact("run.stdout")
        return vary_reports(self.find_worker(), self.place.lease, artifact, marks, _NOW_S)

    def find_worker(self) -> str:
        """Return the identity of Carol's machine."""
        return FleetWorker.objects.get(name="one").worker_id

    def _find_artifact(self, name: str) -> ArtifactFile:
        """Return a file that the worker brought, under a name."""
        brought = StoredFile.objects.get(kind="artifact", fileholder__holder=self.find_worker())
        return ArtifactFile(name, brought.pk, brought.size_bytes)

    def write_all(self, record: Any, sound: Any) -> Any:
        """Return a sound record, as JSON has it, with the texts of all fields that were not refused."""
        return write_texts(record, sound, self.marks.write, self.refused | _PASSED_OVER)

    def keep_all(self) -> tuple[int, int]:
        """Have everything kept that was not refused; return the numbers of two experiments full of texts.

        The first has failures as well, the second the results of all trials.
        """
        ada = User.objects.get(username="ada")
        for name in ("running", "held"):
            cancel_experiment(int(self.place.values[name]), ada, _NOW_S)
        self._keep_bodies()
        self._say_hello(_NOW_S)
        number = self._submit(ada)
        ended_s = self._run(_NOW_S, _TOLD)
        again = self._submit(ada)
        self._run(ended_s, {})
        for experiment in (number, again):
            assert FleetExperiment.objects.get(pk=experiment).state == "completed"
        # The same once more waits for its turn.
        self._submit(ada)
        return number, again

    def _say_hello(self, now_s: float) -> None:
        """Have the machine tell what it is, with all texts but its policy's, by which nothing would run."""
        messages = list_messages(self.place.lease, self._find_artifact("run.stdout"))
        report = write_report(self.find_worker(), messages["hello"], now_s)
        full = self.write_all(WorkerReport, report)
        full["content"]["policy"] = report["content"]["policy"]
        self._say(full, now_s)

    def _keep_bodies(self) -> None:
        """Send each body with all its texts that are kept, but those that end what others need."""
        for route, record in find_bodies().items():
            if route in _KEPT_APART:
                continue
            asked = CHANGES[route][0]
            sound = self.fill_body(asked)
            full = self.write_all(record, sound)
            if full != sound:
                self.send(route, full, asked.to)

    def _submit(self, ada: User) -> int:
        """Submit an experiment with a text wherever its file, its packages and its factor can have one."""
        body, factor = write_submission(self.marks, ada)
        self.send("api/factors", {"sha256": factor}, {})
        record = find_bodies()["api/experiments"]
        answer = self.send("api/experiments", self.write_all(record, body), {})
        assert answer.status_code == 200, answer.content
        return int(answer.json()["id"])

    def _run(self, now_s: float, told: Mapping[int, tuple[str, ...]]) -> float:
        """Run the experiment to its end, which is returned: of `told` something is told, others complete."""
        number, worker_id = 0, self.find_worker()
        for _ in range(60):
            now_s += 30.0
            step(now_s)
            lease = list_leases(now_s).get(worker_id)
            if lease is None:
                if not FleetExperiment.objects.filter(state__in=("debugging", "running")).exists():
                    return now_s
                self._say_hello(now_s)
                continue
            messages = list_messages(
                lease, self._find_artifact(write_line(self.marks, "artifact: its name")[:60])
            )
            for kind in told.get(number, ("sound",)):
                report = write_report(worker_id, messages[kind.replace("sound", "record")], now_s)
                if kind == "sound":
                    # By a factor that was not read back as it was set nothing would be answered.
                    report["content"]["record"] = msgspec.to_builtins(
                        make_record(lease, run=make_phase(wall_time_ns=1000 + 17 * number))
                    )
                    self._say(report, now_s)
                else:
                    self._say(self.write_all(WorkerReport, report), now_s)
            number += 1
        raise AssertionError("the experiment does not end")

    def _say(self, report: Any, now_s: float) -> None:
        refused = say_plain(self.find_worker(), report, now_s)
        assert not refused, refused

    def list_outcomes(self) -> dict[str, str]:
        """Return of each field whether its text was refused, or was shown by some address, or by none."""
        return {
            field: "refused" if field in self.refused else "shown" if field in self.seen else "unseen"
            for field in sorted(self.marks.list_fields())
        }

    def publish(self, number: int) -> None:
        """Publish an experiment with a text in each field."""
        route = "api/experiments/<number>/publish"
        body = self.write_all(find_bodies()[route], self.fill_body(CHANGES[route][0]))
        # Brackets are those of its address.
        name = write_line(self.marks, "organisation: its name")
        body["organisation"] = name.replace("<", "").replace(">", "")
        answer = self.send(route, body, {"number": str(number)})
        assert answer.status_code == 200, answer.content

    def read_all(self, number: int, again: int) -> int:
        """Read every address that may show something of two, as their owner and as an administrator."""
        count = 0
        # What was refused was told to who sent it.
        self.seen.clear()
        ended = self.place.values["ended"]
        addresses = [(route, item.query) for route, item in READS.items()]
        addresses += [
            ("compare", f"id={number}&id={ended}"),
            ("experiments/new/file", f"fork={number}&form=a-form"),
            ("experiments/<int:experiment_id>/analysis", "verb=anova&factor=weather"),
            ("experiments/<int:experiment_id>/report", "verb=tests&factor=weather"),
            (_FIGURE, "verb=anova&factor=weather"),
            (_FIGURE, "verb=summary"),
        ]
        asked = ((*item, to) for item in addresses for to in self._list_objects(item[0], number))
        for route, query, to in asked:
            for who in ("ada", "root"):
                answer, content = self.place.ask(who, "GET", route, Ask(query=query, to=to))
                self.look(f"GET {self.place.fill_route(route, to)}", answer, content)
                count += answer.status_code == 200
        self._read_compared(number, again)
        return count

    def _read_compared(self, number: int, again: int) -> None:
        """Read what a comparison of two experiments says and draws, by the page and by the API."""
        where = urlencode({"where": self._choose_compared(number)}, doseq=True)
        for route, name in _COMPARED.items():
            for to in self._list_objects(route, number):
                asked = Ask(query=f"{name}={number}&{name}={again}&{where}", to=to)
                answer, content = self.place.ask("ada", "GET", route, asked)
                self.look(f"GET {self.place.fill_route(route, to)}", answer, content)
                assert answer.status_code == 200, content
                assert "% interval" in content or "figures" in route, content

    def _choose_compared(self, number: int) -> list[str]:
        """Return a package and a level of which trials counted, as many as an interval needs."""
        rows = Trial.objects.filter(experiment=number, purpose="design", state="counted")
        plans = [msgspec.json.decode(bytes(row.plan), type=PlannedTrial) for row in rows.order_by("pk")]
        ((package, level), _), *_ = Counter(
            (plan.package, plan.levels["weather"]) for plan in plans
        ).most_common(1)
        return [f"package={package}", f"weather={level}"]

    def _list_objects(self, route: str, number: int) -> Iterator[dict[str, str]]:
        """Yield what an address is filled with: each object that holds texts."""
        of = {"experiment_id": str(number), "number": str(number)}
        if "trial_id" in route:
            for attempt in Attempt.objects.filter(trial__experiment=number).select_related("trial"):
                name = Artifact.objects.filter(attempt=attempt).values_list("name", flat=True).first()
                yield of | {
                    "trial_id": attempt.trial.trial_id, "number": str(attempt.number), "name": name or "none"
                }  # fmt: skip
        elif "workers" in route and "name>" in route:
            yield from ({"name": name} for name in FleetWorker.objects.values_list("name", flat=True))
        elif "factors" in route and "name>" in route:
            yield from ({"name": name} for name in ("weather", "aslr"))
        elif "sha256" in route:
            packages = StoredFile.objects.filter(kind="package").values_list("pk", flat=True)
            yield from ({"sha256": sha256} for sha256 in packages)
        elif "figures" in route:
            yield from (of | {"number": "0", "kind": kind} for kind in ("svg", "json"))
        elif "<key>" in route or ":key>" in route:
            kinds = ("txt", "bib", "cff") if "citation" in route else ("",)
            keys = Publication.objects.values_list("pk", flat=True)
            yield from ({"key": key, "kind": kind} for key in keys for kind in kinds)
        else:
            yield of
