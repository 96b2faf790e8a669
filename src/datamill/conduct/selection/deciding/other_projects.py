"""What the histories of other projects taught, which a project's own history then corrects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import msgspec

from datamill.selection.predictors.case import Case
from datamill.selection.predictors.logistic import fit_logistic
from datamill.selection.predictors.models.linear import Logistic

#: Learnt by `studies/selection/teach.py` from the histories beside it.
FILE = "other_projects.json"


class OtherProjects(msgspec.Struct, frozen=True):
    """A model of all histories, and for each of these, by its project, one of all the others."""

    every: Logistic
    without: Mapping[str, Logistic]


def read_others(project: str) -> Logistic:
    """Return what other projects taught; a project that is among them does not learn from itself.

    It is known by the name in its settings.
    """
    text = files("datamill.conduct.selection.deciding").joinpath(FILE).read_bytes()
    found = msgspec.json.decode(text, type=OtherProjects)
    return found.without.get(project, found.every)


def learn_others(cases: Mapping[str, Sequence[Case]]) -> OtherProjects:
    """Learn from the cases of several projects.

    What lies between two commits is left out: how far apart versions are depends on how they were collected.
    """
    ready = {name: [_prepare(case, name) for case in found] for name, found in cases.items()}

    def learn(names: Sequence[str]) -> Logistic:
        model = fit_logistic([case for name in names for case in ready[name]])
        return msgspec.structs.replace(model, offsets={})

    return OtherProjects(
        learn(list(ready)), {name: learn([other for other in ready if other != name]) for name in ready}
    )


def _prepare(case: Case, project: str) -> Case:
    features = {name: value for name, value in case.features.items() if not name.startswith("commit.")}
    return replace(case, benchmark=f"{project}: {case.benchmark}", features=features)
