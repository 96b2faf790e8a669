"""From the form of a new experiment to its file: three steps, one text."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Constraints
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.service.pages.new_experiment.stored_packages import ChosenPackage, parse_chosen

#: Fields of each step, by which a step knows what to carry along for the others.
STEP_FIELDS: dict[str, tuple[str, ...]] = {
    "packages": ("name", "question", "p", "baseline"),
    "machines": (
        "arch", "min_memory", "min_cores", "min_clock", "cpu_model", "distribution", "counters", "workers",
    ),
    "space": (
        "in", "replicates", "build", "order", "response", "direction", "metric", "formula", "unit",
        "reboot", "block_trials", "redundancy", "debug", "public", "build_on", "profile",
    ),
}  # fmt: skip
#: Fields of the third step whose names begin so.
SHARE_PREFIX = "share-"
OWN_RESPONSE = "own"


class FormData(Protocol):
    """What was sent with a form: the last value of a field, or all."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the last value of a field."""

    def getlist(self, key: str) -> list[str]:
        """Return all values of a field."""


@dataclass(frozen=True, slots=True)
class ExperimentForm:
    """What a user has chosen so far; texts are as they were typed."""

    name: str
    question: str
    baseline: str
    packages: tuple[ChosenPackage, ...]
    arch: tuple[str, ...]
    min_memory: str
    min_cores: str
    min_clock: str
    cpu_model: tuple[str, ...]
    distribution: tuple[str, ...]
    counters: bool
    workers: tuple[str, ...]
    shares: Mapping[str, int]
    replicates: str
    build: str
    order: str
    response: str
    direction: str
    metric: str
    formula: str
    unit: str
    reboot: str
    block_trials: str
    redundancy: str
    debug: str
    public: bool
    build_on: str
    profile: bool


def read_form(data: FormData) -> ExperimentForm:
    """Return what a form says; what it does not say is as usual."""

    def text(key: str, default: str = "") -> str:
        return str(data.get(key, default)).strip()

    return ExperimentForm(
        name=text("name"),
        question=text("question"),
        baseline=text("baseline"),
        packages=_read_packages(data.getlist("p")),
        arch=tuple(data.getlist("arch")),
        min_memory=text("min_memory"),
        min_cores=text("min_cores"),
        min_clock=text("min_clock"),
        cpu_model=tuple(data.getlist("cpu_model")),
        distribution=tuple(data.getlist("distribution")),
        counters=bool(data.get("counters")),
        workers=tuple(data.getlist("workers")),
        shares={name: _read_share(text(f"{SHARE_PREFIX}{name}", "100")) for name in data.getlist("in")},
        replicates=text("replicates", "5") or "5",
        build=text("build", "shared"),
        order=text("order", "random"),
        response=text("response", "wall_time_s"),
        direction=text("direction", "lower"),
        metric=text("metric"),
        formula=text("formula"),
        unit=text("unit"),
        reboot=text("reboot", "auto"),
        block_trials=text("block_trials", "10") or "10",
        redundancy=text("redundancy", "0") or "0",
        debug=text("debug", "first"),
        public=bool(data.get("public")),
        build_on=text("build_on", "worker"),
        profile=bool(data.get("profile")),
    )


def _read_packages(texts: Sequence[str]) -> tuple[ChosenPackage, ...]:
    """Return the chosen packages, those of one name told apart by a number."""
    chosen: list[ChosenPackage] = []
    for text in dict.fromkeys(texts):
        item = parse_chosen(text)
        if item is None:
            continue
        names = {other.name for other in chosen}
        number, name = 2, item.name
        while name in names:
            name, number = f"{item.name}-{number}", number + 1
        chosen.append(ChosenPackage(name, item.sha256))
    return tuple(chosen)


def _read_share(text: str) -> int:
    try:
        return min(100, max(0, round(float(text or "100"))))
    except (ValueError, OverflowError):
        return 100


def format_experiment(form: ExperimentForm, hardware: Sequence[str]) -> str:
    """Return the experiment file that a form means; `hardware` are the dimensions that are no factors.

    Raises:
        InputError: for a number that is none.
    """
    tables: dict[str, Any] = {"experiment": {"name": form.name}}
    head = tables["experiment"]
    if form.question:
        head["question"] = form.question
    head["replicates"] = _read_number(form.replicates, "replicates")
    head["build"] = form.build
    if form.order != "random":
        head["order"] = form.order
    if form.baseline in {item.name for item in form.packages}:
        head["baseline"] = form.baseline
    tables["package"] = [
        {"name": item.name, "path": f"packages/{item.name}.tar.gz"} for item in form.packages
    ]
    if constraints := _list_constraints(form):
        tables["constraints"] = constraints
    coverage = {name: f"{share}%" for name, share in form.shares.items() if name in hardware}
    if coverage:
        tables["coverage"] = coverage
    factors = {name: f"{share}%" for name, share in form.shares.items() if name not in hardware}
    if factors:
        tables["factors"] = factors
    text = format_toml(tables)
    if response := _describe_response(form):
        name, table = response
        # A dotted section, as people write it.
        text += "\n" + format_toml({"response": table}).replace("[response]", f"[responses.{name}]", 1)
    return text + "\n" + format_toml({"fleet": _list_fleet_choices(form)})


def read_constraints(form: ExperimentForm) -> Constraints:
    """Return which machines a form allows, whatever else it lacks yet.

    Raises:
        InputError: for a size, a number or a clock that is none.
    """
    package = {"name": "package", "path": "package"}
    tables = {
        "experiment": {"name": "experiment"},
        "package": [package],
        "constraints": _list_constraints(form),
    }
    try:
        return parse_experiment(format_toml(tables), name="").constraints
    except InputError as problem:
        # Lines of a text that nobody sees help nobody.
        raise problem.moved("") from None


def _list_constraints(form: ExperimentForm) -> dict[str, Any]:
    constraints: dict[str, Any] = {}
    if form.arch:
        constraints["arch"] = list(form.arch)
    if form.min_memory:
        constraints["min_memory"] = form.min_memory
    if form.min_cores:
        constraints["min_cores"] = _read_number(form.min_cores, "processors")
    if form.min_clock:
        constraints["min_clock"] = form.min_clock
    if form.cpu_model:
        # The file takes patterns; what was ticked is meant as it is.
        constraints["cpu_model"] = [glob.escape(model) for model in form.cpu_model]
    if form.distribution:
        constraints["distribution"] = [glob.escape(name) for name in form.distribution]
    if form.counters:
        constraints["counters"] = True
    if form.workers:
        constraints["workers"] = list(form.workers)
    return constraints


def _describe_response(form: ExperimentForm) -> tuple[str, dict[str, Any]] | None:
    """Return name and table of the response, None for what answers the question anyway."""
    if form.response == OWN_RESPONSE:
        table = {"unit": form.unit, "direction": form.direction}
        if form.formula:
            table = {"formula": form.formula, **table}
        return form.metric or "metric", table
    if form.response in BUILT_IN_UNITS and (form.response, form.direction) != ("wall_time_s", "lower"):
        return form.response, {"direction": form.direction}
    return None


def _list_fleet_choices(form: ExperimentForm) -> dict[str, Any]:
    choices: dict[str, Any] = {"reboot": form.reboot}
    if form.reboot == "block":
        choices["block_trials"] = _read_number(form.block_trials, "trials between two reboots")
    choices["debug"] = form.debug
    if redundancy := _read_number(form.redundancy, "spare machines"):
        choices["redundancy"] = redundancy
    if form.build_on in ("strongest", "cross") and form.build == "shared":
        choices["build_on"] = form.build_on
    if form.profile:
        # Also with builds that cannot be profiled: the plan says so.
        choices["profile"] = True
    choices["public"] = form.public
    return choices


def _read_number(text: str, what: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    raise InputError(f'"{text}" is not a whole number', where=what, remedy="Write, say, 5.")
