"""Templates that fill the wizard: kinds of questions that many ask (ICPE 2013 section 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlencode

from datamill.design.fleet.fleet_records import Candidate
from datamill.service.pages.new_experiment.fleet_view import list_hardware, list_software
from datamill.service.pages.new_experiment.form import SHARE_PREFIX


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of question: `fields` of the wizard's form, and `factors` that it varies with their shares.

    `packages` says what to choose in the first step.
    """

    key: str
    title: str
    question: str
    help: str
    packages: str
    factors: Mapping[str, int] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OfferedTemplate:
    """A template as this fleet can have it: `query` fills the wizard, `left_out` no machine can vary."""

    template: Template
    query: str
    varied: tuple[str, ...]
    left_out: tuple[str, ...]


_LAYOUT = {"link_order": 100, "env_padding": 100, "aslr": 100, "pie": 100}
_KERNEL = {
    "governor": 100,
    "turbo": 100,
    "transparent_huge_pages": 100,
    "autogroup": 100,
    "scheduler_policy": 100,
}
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        item.key: item
        for item in (
            Template(
                "compare",
                "A against B",
                "Which of them is faster, and by how much?",
                "Two packages, or more, in turns on all kinds of processors, with address randomisation on "
                "and off, so that the answer does not hold for one layout alone.",
                "Choose the packages to compare; the first one is what the others are compared with, if you "
                "say so below.",
                {"arch": 100, "aslr": 100},
                {"replicates": "10", "order": "interleaved"},
            ),
            Template(
                "flags",
                "Compiler flags",
                "What does optimisation gain?",
                "One package at each level of optimisation. Link order varies as well: what a flag gains by "
                "moving code says nothing of it.",
                "Choose a package whose setup.sh compiles it with cc, gcc or clang.",
                {"arch": 100, "optimization": 100, "link_order": 100},
                {"replicates": "5", "order": "interleaved"},
            ),
            Template(
                "versions",
                "Regression of a repository",
                "Which version became slower?",
                "Versions of one program as packages, in turns, each built afresh for every trial: what "
                "varies between builds does not count as a regression. The command line makes packages of "
                'commits: datamill gate, and rev = "REVISION" in an experiment file.',
                "Choose one package for each version, and say below which one the others are compared with.",
                {"link_order": 100},
                {"replicates": "10", "order": "interleaved", "build": "fresh"},
            ),
            Template(
                "layout",
                "Sensitivity to memory layout",
                "How much of what is measured is the layout of memory?",
                "Address randomisation, position-independent code, link order and size of the environment. "
                "None of them is what a program computes, each moves its times (thesis, chapter 5).",
                "Choose a package whose setup.sh compiles it.",
                _LAYOUT,
                {"replicates": "10", "reboot": "trial"},
            ),
            Template(
                "kernel",
                "Scheduler and kernel settings",
                "Which settings of the system matter?",
                "Governor, turbo, huge pages, autogroup and scheduling policy, where the machines have them. "
                "Owners may forbid some.",
                "Choose the package that the settings should serve.",
                _KERNEL,
                {"replicates": "5", "order": "interleaved"},
            ),
            Template(
                "scaling",
                "Machine against machine",
                "On which machines does it run well?",
                "One package on every machine that there is, with nothing else varied.",
                "Choose one package.",
                {"machine": 100},
                {"replicates": "10"},
            ),
        )
    }
)


def offer_templates(fleet: Sequence[Candidate]) -> list[OfferedTemplate]:
    """Return the templates with the factors that some machine can vary, and those that none can."""
    able = {item.name for item in list_hardware(fleet)}
    able |= {item.name for item in list_software(fleet) if item.choice}
    return [_offer(template, able) for template in TEMPLATES.values()]


def _offer(template: Template, able: set[str]) -> OfferedTemplate:
    varied = tuple(name for name in template.factors if name in able)
    query: list[tuple[str, str]] = [("template", template.key), ("question", template.question)]
    query += [("in", name) for name in varied]
    query += [(f"{SHARE_PREFIX}{name}", str(template.factors[name])) for name in varied]
    query += template.fields.items()
    left_out = tuple(name for name in template.factors if name not in able)
    return OfferedTemplate(template, urlencode(query), varied, left_out)
