"""Messages of pure rooms name arguments, which each face spells; no mark reaches a user unspelled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from inspect import Parameter, signature
from pathlib import Path

import click
import pytest

import datamill
from datamill.cli.main import datamill as command_line
from datamill.experiment.messages.arguments import (
    METHODS,
    PYTHON_VERBS,
    Argument,
    speak_command_line,
    speak_python,
)
from datamill.service.pages.labels import LABELS
from datamill.verbs.analyses.analysis import Analysis, Asked
from datamill.verbs.inputs.nested_data import AskedNested
from datamill.verbs.summary import Summary

_SOURCES = Path(datamill.__file__).parent
_OPTION = re.compile(r"(?<![\w-])--([a-z]|$)|datamill (analyze|compare|plan) [a-z]*")
#: What may say `--option`, and why.
_ALLOWED = {
    "cli": "is the command line",
    "service/serving": "is the command line of `datamill serve`: its options, and errors that it alone shows",
    "service/broker": "shows its errors to the person who types `datamill serve`, before there is a page",
    "service/files/bucket.py": "shows these errors to the person who types `datamill serve`",
    "service/settings.py": "is read when `datamill serve` starts",
    "service/coordinator/joining/enrolment.py": "answers `datamill-worker join`, which has no other face",
    "selection/history/recognised_builds.py": "calls build systems",
    "conduct/gate/shorter_executions.py": "names options of other tools",
    "conduct/selection/collecting": "calls git, and names its options",
    "conduct/selection/fleet/submitted": "writes scripts that call valgrind and tar",
    "conduct/selection/profile_command.py": "calls valgrind",
    "guests": "calls the emulator and the tools that make its images",
    "execution/worker.py": "calls datamill-worker",
    "execution/command_session.py": "calls datamill-worker",
    "packing/debian_sources.py": "calls apt-get",
    "packing/git": "calls git, and names its options",
    "report/tables/markup.py": "writes LaTeX, whose dash is two hyphens",
    "results/crates/writing.py": "writes the README of a crate, which names a command",
    "results/foreign": "tells how other tools export",
}
_MARKS = ("argument", "verb")
#: Errors that spell when they are read, and what spells at once.
_SPELLERS = ("InputError", "QuestionError", "NotFoundError", "DeniedError", "tell")
_MODULE = "experiment/messages/arguments.py"


@cache
def read_sources() -> dict[str, ast.Module]:
    """Modules that could spell or name an option, by path in the package; each node knows its parent."""
    found = {}
    for path in sorted(_SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not _OPTION.search(text) and "messages.arguments" not in text:
            continue
        tree = ast.parse(text)
        set_parents(tree)
        found[path.relative_to(_SOURCES).as_posix()] = tree
    return found


def set_parents(tree: ast.Module) -> None:
    """Have each node know what it stands in."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]


def walk_up(node: ast.AST) -> Iterator[ast.AST]:
    """What a node stands in, from the inside."""
    while (node := getattr(node, "parent", None)) is not None:  # type: ignore[assignment]
        yield node


def name_called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def is_spelled(node: ast.AST) -> bool:
    """Whether a text stands in what makes an error, which spells it when it is read, or in `tell`."""
    return any(name in _SPELLERS for name in map(name_called, walk_up(node)))


def find_carrier(node: ast.AST) -> tuple[ast.AST, str] | None:
    """The name that a text is kept under, and where that holds: a variable or private function."""
    around = list(walk_up(node))
    functions = [outer for outer in around if isinstance(outer, ast.FunctionDef)]
    for outer in around:
        if isinstance(outer, ast.Assign | ast.AugAssign):
            target = outer.targets[0] if isinstance(outer, ast.Assign) else outer.target
            return ([*functions, around[-1]][0], target.id) if isinstance(target, ast.Name) else None
        if isinstance(outer, ast.Return) and functions[0].name.startswith("_"):
            return around[-1], functions[0].name
        if isinstance(outer, ast.stmt):
            return None
    return None


def is_mark(node: ast.AST) -> bool:
    """Whether this is a call of `argument` or `verb`, not of click's."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MARKS


def uses_marks(tree: ast.Module) -> bool:
    """Whether a module has `argument` or `verb` from our own; click's decorator has the same name."""
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "datamill.experiment.messages.arguments"
        for node in tree.body
    )


def find_unspelled(tree: ast.Module) -> list[int]:
    """Lines on which an argument is named in a text that nothing spells."""
    wrong: list[int] = []
    carriers: list[tuple[ast.AST, str]] = []

    def judge(node: ast.expr) -> None:
        if is_spelled(node):
            return
        carrier = find_carrier(node)
        if carrier is None:
            wrong.append(node.lineno)
        elif carrier not in carriers:
            carriers.append(carrier)

    for node in ast.walk(tree):
        if is_mark(node):
            assert isinstance(node, ast.expr)
            judge(node)
    for scope, name in carriers:  # which grow
        for node in ast.walk(scope):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name:
                judge(node)
    return wrong


def list_named() -> list[tuple[str, str, str]]:
    """Every argument that a message names: where, its name, and its verb; computed names are left out."""
    found = []
    for path, tree in read_sources().items():
        if not uses_marks(tree):
            continue
        for node in ast.walk(tree):
            if not is_mark(node) or name_called(node) != "argument":
                continue
            assert isinstance(node, ast.Call)
            name = node.args[0]
            verb = next((key.value for key in node.keywords if key.arg == "verb"), None)
            if isinstance(name, ast.Constant):
                found.append(
                    (
                        f"{path}:{node.lineno}",
                        name.value,
                        verb.value if isinstance(verb, ast.Constant) else "",
                    )
                )
    return found


def list_options() -> dict[str, set[str]]:
    """The options of each command."""
    found: dict[str, set[str]] = {}

    def walk(command: click.Command, name: str, context: click.Context) -> None:
        if isinstance(command, click.Group):
            for item in command.list_commands(context):
                nested = command.get_command(context, item)
                assert nested is not None
                walk(nested, f"{name} {item}".strip(), context)
        found[name] = {option for item in command.params for option in item.opts}

    walk(command_line, "", click.Context(command_line))
    return found


def list_python_arguments() -> set[str]:
    verbs = [getattr(datamill, name) for name in datamill.__all__ if name != "InputError"]
    own = {
        item.name
        for verb in verbs
        for item in signature(verb).parameters.values()
        if item.kind is not Parameter.VAR_KEYWORD
    }
    return own | set(Asked.__annotations__) | set(AskedNested.__annotations__)


def is_pure(path: str) -> bool:
    return not any(path == room or path.startswith(f"{room}/") for room in (*_ALLOWED, _MODULE))


def test_no_text_of_a_pure_room_spells_an_option() -> None:
    spelled = []
    for path, tree in read_sources().items():
        if not is_pure(path):
            continue
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        spelled += [
            f"{path}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and _OPTION.search(node.value)
        ]
    assert not spelled, "use argument(), verb() or command() of datamill.experiment.messages.arguments"


def test_every_exception_is_needed() -> None:
    texts = {
        path: [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        for path, tree in read_sources().items()
    }
    for room in _ALLOWED:
        inside = [path for path in texts if path == room or path.startswith(f"{room}/")]
        assert any(
            isinstance(text, str) and _OPTION.search(text) for path in inside for text in texts[path]
        ), room


def test_every_marked_text_is_spelled() -> None:
    wrong = [
        f"{path}:{line}"
        for path, tree in read_sources().items()
        if uses_marks(tree)
        for line in find_unspelled(tree)
    ]
    assert not wrong, "give it to an InputError, or to tell() where it is kept in a record"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("raise InputError(f'Name one with {argument(\"factors\")}.')", []),
        ("note = tell(f'see {verb(\"compare\")}')\nprint(note)", []),
        ("def _advise():\n    return argument('x')\nraise InputError(remedy=_advise())", []),
        ("warnings.append(f'see {argument(\"x\")}')", [1]),
        ("def advise():\n    return argument('x')", [2]),
        ("_ADVICE = argument('x')\nwarn(_ADVICE)", [2]),
        ("def _advise():\n    return argument('x')\n\nwarn(_advise())", [4]),
        ("def f():\n    remedy = argument('x')\n    remedy += '.'\n    return Record(remedy)", [4]),
    ],
)
def test_a_marked_text_that_nothing_spells_is_found(source: str, lines: list[int]) -> None:
    tree = ast.parse(source)
    set_parents(tree)
    assert find_unspelled(tree) == lines


def test_every_argument_exists_on_the_command_line_and_in_python() -> None:
    options, python = list_options(), list_python_arguments()
    everywhere = set().union(*options.values())
    named = list_named()
    assert len(named) > 50
    for where, name, command in named:
        item = Argument(name, verb=command)
        assert speak_command_line(item) in (options[command] if command else everywhere), where
        if not command and speak_python(item) == f"{name}=":
            assert name in python, where


def test_verbs_and_methods_that_python_is_told_of_exist() -> None:
    assert all(hasattr(datamill, name) for name in PYTHON_VERBS.values())
    assert all(name in list_options() for name in PYTHON_VERBS)
    for name, spelled in METHODS.items():
        if spelled.startswith("."):
            assert hasattr(Analysis, spelled[1:-2]), name
        else:
            assert name in list_python_arguments() | set(signature(Summary.figure).parameters), name


def test_labels_are_those_of_the_form() -> None:
    folder = _SOURCES / "service" / "templates" / "datamill" / "new_experiment"
    pages = "".join(path.read_text(encoding="utf-8") for path in folder.glob("new_*.html"))
    for name, label in LABELS.items():
        assert re.search(rf'name="{name}"', pages), name
        assert re.search(rf'<(label for="{name}"|legend)>({{% gloss "{name}" ")?{label}["<]', pages), name
