"""What the process has loaded from which those of users' requests are forked; to be imported there alone.

Statistics are loaded last: plans need none, and each answer would else spend 0.6 s of processor time on it.
"""

from __future__ import annotations

import importlib
import os

from datamill.service.bounded_work.child import leave_session, stand_back

_MODULES = [
    "datamill.design.fleet.fleet_plan",
    "datamill.packing.packages",
    "datamill.packing.user_factors",
    "datamill.results.tables.table",
    "datamill.service.submissions.planned_apart",
]
#: These read the tables of a coordinator, which has set Django up.
_MODULES_OF_TABLES = ["datamill.service.api.previews", "datamill.service.answers.bundle_folders"]
_MODULES_OF_ANSWERS = ["datamill.verbs.answer", "datamill.service.answers.drawing"]
#: Whoever starts it has more urgent things to do, and yet it is waited for.
_NICENESS_WHILE_LOADING = 10


def _load() -> None:
    starter = os.getppid()
    os.nice(_NICENESS_WHILE_LOADING)
    modules = list(_MODULES)
    if "DJANGO_SETTINGS_MODULE" in os.environ:
        import django

        django.setup()
        modules += _MODULES_OF_TABLES
    modules += _MODULES_OF_ANSWERS
    for name in modules:
        if os.getppid() != starter:
            # Nobody is left to fork anything for.
            os._exit(0)
        importlib.import_module(name)
    # Forks as well are made when nobody else wants the processor.
    leave_session()
    stand_back()


_load()
