"""The commit that introduced a change of a benchmark: predicted, then measured."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datamill.conduct.selection.collecting.collect import CollectionQuestion, collect_history
from datamill.conduct.selection.collecting.commands import describe_problem, execute, fill_command, run_setup
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.deciding.predict_revision import read_model
from datamill.conduct.selection.deciding.user_features import read_user_features
from datamill.conduct.selection.profile_command import count_command
from datamill.conduct.selection.store.kept_binaries import list_variables
from datamill.execution.command_session import CommandSession
from datamill.execution.worker import find_worker
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.messages.suggestions import suggest_name
from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.history.pair_cases import describe_distance, make_case
from datamill.selection.history.records import COUNTED_WAY, Observation, Version, WorkCount
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import (
    Truth,
    judge_counts,
    judge_times,
    measure_spread,
    warn_of_spread,
)
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.prediction.search import SuspectVersion, choose_split, narrow, share_probability


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A version that was measured: its response by that of the good one, and whether it has the change."""

    commit: str
    ratio_to_good: float
    has_change: bool


@dataclass(frozen=True, slots=True)
class Bisection:
    """Candidates in the order of the history, what was measured, and the commit that was found.

    `ratio` is the change from good to bad; None where nothing was measured. `found` is None where the
    search ended before one candidate was left, or good and bad do not differ.
    """

    benchmark: str
    good: str
    bad: str
    ratio: float | None
    candidates: tuple[SuspectVersion, ...]
    steps: tuple[MeasuredStep, ...]
    found: str | None
    warnings: tuple[str, ...]


def bisect_change(
    project: Project,
    benchmark: str,
    good: str,
    bad: str,
    *,
    measure: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Bisection:
    """Find which commit after `good` up to `bad` changed a benchmark.

    All of them are built. Each is predicted against the one before it with the profile of `good`; then the
    version whose measurement rules out most for its cost is measured beside both ends, until one is left.

    Raises:
        InputError: the commits do not follow each other, the ends do not build, or nothing was trained.
    """
    history = project.history
    if history is None:
        raise InputError("no repository is here: commits cannot be found", where=str(project.store.folder))
    names = [item.name for item in project.settings.benchmark]
    if benchmark not in names:
        raise InputError(
            f'there is no benchmark "{benchmark}"',
            where=str(project.settings_file),
            remedy=suggest_name(benchmark, names),
        )
    trained = read_model(project)
    first, last = history.resolve(good), history.resolve(bad)
    if first == last or not history.is_ancestor(first, last):
        raise InputError(
            f"{bad} does not descend from {good}", where=str(history.top), remedy="Name the older one first."
        )
    chain, warnings = _build_chain(project, history, first, last, tell)
    start, versions = chain[0], chain[1:]
    candidates = _list_candidates(project, trained, benchmark, start, versions)
    with CommandSession(find_worker()) as worker:
        if not measure:
            return Bisection(benchmark, first, last, None, tuple(candidates), (), None, tuple(warnings))
        run_setup(worker, project.settings, project.here)
        ruler = _Ruler(project, benchmark, trained.truth, worker)
        warnings += ruler.warnings
        whole = ruler.compare(start.program, versions[-1].program)
        if not whole.changed:
            warnings.append("good and bad do not differ by what counts as a change")
            return Bisection(
                benchmark, first, last, whole.ratio, tuple(candidates), (), None, tuple(warnings)
            )
        steps: list[MeasuredStep] = []
        left = [item for item in candidates if item.probability > 0] or candidates
        while len(left) > 1:
            place = choose_split(left)
            tell(f"{len(left)} candidates left: measuring {left[place].commit[:9]}")
            ratio, has_change = ruler.place(start.program, left[place].program, versions[-1].program)
            steps.append(MeasuredStep(left[place].commit, ratio, has_change))
            left = narrow(left, place, has_change=has_change)
    return Bisection(
        benchmark,
        first,
        last,
        whole.ratio,
        tuple(candidates),
        tuple(steps),
        left[0].commit if left else None,
        tuple(warnings),
    )


def _build_chain(
    project: Project, history: GitHistory, first: str, last: str, tell: Callable[[str], None]
) -> tuple[list[Version], list[str]]:
    """The good version and those after it that build, along first parents."""
    for revisions, stride in ((first, 1 << 30), (f"{first}..{last}", 1)):
        question = CollectionQuestion(
            range=revisions, stride=stride, profile=stride > 1, measure=False, only_asked=True
        )
        collect_history(question, project.settings, history, project.store, project.here, tell)
    known = {item.commit: item for item in project.store.versions}
    walked = [first, *(item.commit for item in history.walk(f"{first}..{last}", first_parent=True))]
    chain = [known[commit] for commit in walked if known[commit].outcome == "built"]
    failed = len(walked) - len(chain)
    for commit in (first, last):
        if known[commit].outcome != "built":
            raise InputError(f"{commit[:9]} does not build: {known[commit].reason}", where=str(history.top))
    if not failed:
        return chain, []
    verb = "does" if failed == 1 else "do"
    told = (
        f"{count_nouns(failed, 'commit')} between {verb} not build: changes count as those of the next commit"
    )
    return chain, [told]


def _list_candidates(
    project: Project, trained: object, benchmark: str, start: Version, versions: Sequence[Version]
) -> list[SuspectVersion]:
    from datamill.selection.prediction.trained_model import TrainedModel

    assert isinstance(trained, TrainedModel)
    store = project.store
    profile = store.read_profiles(start.program).get(benchmark)
    if profile is None:
        raise InputError(f"{start.commit[:9]} has no profile of {benchmark}", where=str(store.folder))
    known = {item.commit: item for item in store.versions}
    observations = [
        item.wall_ns for item in store.read_observations() if item.benchmark == benchmark and item.wall_ns
    ]
    seconds = sum(observations) / len(observations) / 1e9 if observations else 1.0
    cost = seconds * project.settings.repetitions
    scores, same = [], []
    before = start
    for version in versions:
        same.append(version.program == before.program)
        if same[-1]:
            scores.append(0.0)
        else:
            changes = compare_tables(store.read_table(before.program), store.read_table(version.program))
            features = {
                **read_features(Evidence(changes, profile)),
                **describe_distance(known, before, version),
                **read_user_features(project, before, version),
            }
            scores.append(trained.model.score(make_case(benchmark, before, version, features)))
        before = version
    shares = share_probability(scores, same)
    return [
        SuspectVersion(version.commit, version.subject, version.program, score, share, cost)
        for version, score, share in zip(versions, scores, shares, strict=True)
    ]


class _Ruler:
    """Measures a benchmark of programs: times in random order, or counted instructions."""

    def __init__(self, project: Project, benchmark: str, truth: TruthSetting, worker: CommandSession) -> None:
        self._project, self._benchmark, self._truth, self._worker = project, benchmark, truth, worker
        setting = next(item for item in project.settings.benchmark if item.name == benchmark)
        self._command = fill_command(setting.command, project.here)
        counts = [item for item in project.store.read_counts() if item.benchmark == benchmark]
        self._counts: dict[str, WorkCount] = {item.program: item for item in counts}
        self._spread = measure_spread(counts)

    @property
    def warnings(self) -> list[str]:
        """What is to be known about how it judges, in sentences."""
        told = warn_of_spread(self._benchmark, self._spread, self._truth)
        return [told] if told else []

    def compare(self, old: str, new: str) -> Truth:
        """Whether two programs differ."""
        if self._truth.rule == "instructions":
            return judge_counts(self._count(old), self._count(new), self._truth, self._spread)
        found = self._execute([old, new])
        return judge_times(found[old], found[new], self._truth)

    def place(self, good: str, middle: str, bad: str) -> tuple[float, bool]:
        """Return the ratio of the middle to good, and whether it is nearer to bad, on a logarithmic scale."""
        if self._truth.rule == "instructions":
            values = [float(self._count(name).instructions or 0) for name in (good, middle, bad)]
        else:
            found = self._execute([good, middle, bad])
            values = [_take_median(found[name], self._truth.response) for name in (good, middle, bad)]
        first, between, last = (math.log(value) for value in values)
        return values[1] / values[0], abs(between - last) < abs(between - first)

    def _count(self, program: str) -> WorkCount:
        known = self._counts.get(program)
        if known is None or known.instructions is None or known.way != COUNTED_WAY:
            folder = self._project.store.place_programs(program)
            kept = self._project.store.programs[program]
            paths = [folder / path for path in kept.tables]
            variables = list_variables(kept, folder)
            counted = count_command(self._command, paths, directory=folder, variables=variables)
            known = self._counts[program] = WorkCount(
                program, self._benchmark, counted.instructions, way=COUNTED_WAY
            )
        return known

    def _execute(self, programs: Sequence[str]) -> dict[str, list[Observation]]:
        order = [name for name in dict.fromkeys(programs) for _ in range(self._project.settings.repetitions)]
        random.shuffle(order)
        session = f"bisect-{time.time_ns()}"
        found: dict[str, list[Observation]] = {name: [] for name in programs}
        for place, name in enumerate(order):
            folder = self._project.store.place_programs(name)
            started = time.time_ns()
            variables = list_variables(self._project.store.programs[name], folder)
            timeout_s = self._project.settings.timeout_s
            answer = execute(self._worker, self._command, folder, timeout_s, variables)
            problem = describe_problem(answer)
            if problem or answer.run is None:
                raise InputError(f"{self._benchmark} {problem}", where=str(folder))
            run = answer.run
            found[name].append(
                Observation(
                    name,
                    self._benchmark,
                    session,
                    place,
                    started,
                    run.wall_time_ns,
                    run.user_time_ns,
                    run.system_time_ns,
                    run.peak_memory_bytes,
                )
            )
        return found


def _take_median(items: Sequence[Observation], response: str) -> float:
    values = sorted(
        (item.wall_ns or 0) if response == "wall" else (item.user_ns or 0) + (item.system_ns or 0)
        for item in items
    )
    middle = len(values) // 2
    return max(1.0, values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2)
