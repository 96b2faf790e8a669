"""What the histories of other projects taught, which a project's own history then corrects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import msgspec

from datamill.selection.history.settings import TruthSetting
from datamill.selection.prediction.magnitude import VersionSizes, group_sizes
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.models.linear import Logistic

#: Learnt by `studies/selection/teach.py` from the histories beside it.
FILE = "other_projects.json"


class OtherProjects(msgspec.Struct, frozen=True):
    """A model of all histories, and for each of these, by its project, one of all the others.

    `sizes` are those of the changes of each, from `COUNT_THRESHOLD` of counted instructions on.
    """

    every: Logistic
    without: Mapping[str, Logistic]
    sizes: Mapping[str, VersionSizes]


def read_others(project: str) -> Logistic:
    """Return what other projects taught; a project that is among them does not learn from itself.

    It is known by the name in its settings.
    """
    found = _read()
    return found.without.get(project, found.every)


def read_other_sizes(project: str, truth: TruthSetting) -> tuple[VersionSizes, ...]:
    """Return how large changes of other projects were; none where a change is one of times.

    A change of times is hardly one of what is executed, and its size is the machine's.
    """
    if truth.rule != "instructions":
        return ()
    return tuple(sizes for name, sizes in _read().sizes.items() if name != project)


def _read() -> OtherProjects:
    text = files("datamill.conduct.selection.deciding").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=OtherProjects)


def learn_others(cases: Mapping[str, Sequence[Case]], sized: Mapping[str, Sequence[Case]]) -> OtherProjects:
    """Learn from the cases of several projects.

    `cases` are judged by the settings of each, and models are learnt from them. `sized` are the same judged
    by `COUNT_THRESHOLD`: who takes the sizes has a least change of their own, and needs all from there on.
    What lies between two commits is left out: how far apart versions are depends on how they were collected.
    """
    ready = {name: [_prepare(case, name) for case in found] for name, found in cases.items()}

    def learn(names: Sequence[str]) -> Logistic:
        model = fit_logistic([case for name in names for case in ready[name]])
        return msgspec.structs.replace(model, offsets={})

    return OtherProjects(
        learn(list(ready)),
        {name: learn([other for other in ready if other != name]) for name in ready},
        {name: _round(group_sizes(found)) for name, found in sized.items()},
    )


def _round(versions: VersionSizes) -> VersionSizes:
    """Four figures: what is shipped need not say more."""
    return tuple(tuple(round(size, 3 - math.floor(math.log10(size))) for size in sizes) for sizes in versions)


def _prepare(case: Case, project: str) -> Case:
    features = {name: value for name, value in case.features.items() if not name.startswith("commit.")}
    return replace(case, benchmark=f"{project}: {case.benchmark}", features=features)
