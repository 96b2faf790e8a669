"""What the process has loaded from which those of users' requests are forked; to be imported there alone."""

from __future__ import annotations

import importlib
import os

from datamill.service.bounded_work.child import stand_back

_modules = [
    "datamill.execution.packages",
    "datamill.execution.user_factors",
    "datamill.service.submissions.planned_apart",
]
#: These read the tables of a coordinator, which has set Django up.
_MODULES_OF_TABLES = ["datamill.service.api.previews"]

if "DJANGO_SETTINGS_MODULE" in os.environ:
    import django

    django.setup()
    _modules += _MODULES_OF_TABLES
for _name in _modules:
    importlib.import_module(_name)
# Forks as well are made when nobody else wants the processor.
stand_back()
