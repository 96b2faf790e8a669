"""How the pages spell arguments: by the label of the form's field."""

from __future__ import annotations

from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import Argument, speak_command_line, speak_python

#: Labels of the fields whose arguments messages name. Others of the same name mean something else:
#: `order` and `formula` of an analysis are no fields of a new experiment.
LABELS = {
    "baseline": "Compare the others with",
    "direction": "Better is",
    "reboot": "Reboot",
    "redundancy": "Spare machines",
    "response": "Response",
    "unit": "Unit",
}


def speak_form(item: Argument) -> str:
    """`"Reboot: never"`; of what no form asks for, what the command line says, with its verb."""
    if label := LABELS.get(item.name):
        return f'"{label}: {item.value}"' if item.value else f'"{label}"'
    return speak_python(item) if item.name and item.verb else speak_command_line(item)


def spell_problems(context: dict[str, Any]) -> dict[str, Any]:
    """Return what a page shows, with its errors in the words of the form."""
    return {
        key: value.told(speak_form) if isinstance(value, InputError) else value
        for key, value in context.items()
    }
