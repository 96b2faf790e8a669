"""The report takes records of what was planned, measured and inferred, and infers nothing itself."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import datamill.report

ROOT = Path(datamill.report.__file__).parent
#: Rooms below the report, none of whose functions it calls: whatever they compute is in their records.
INFERS = ("datamill.analysis", "datamill.selection", "datamill.platforms", "datamill.allocators")
#: What puts a plan into words, and a text into a cell of CSV.
PHRASES = {
    "mark_text",
    "list_drawn_factors",
    "list_unsettled_factors",
    "phrase_treatment",
    "phrase_order",
    "phrase_aliases",
}
#: What estimates from values, or counts them.
ESTIMATES = {
    *("mean", "fmean", "nanmean", "average", "median", "nanmedian", "quantile", "percentile", "nanquantile"),
    *("nanpercentile", "var", "std", "stdev", "pstdev", "cov", "corrcoef", "bincount"),
}
#: Libraries of inference.
LIBRARIES = ("scipy", "statistics")
#: What infers after all, and why.
ALLOWED = {"timing/exports.py": "the figures of hyperfine's own form, which other programs read"}


@cache
def list_nodes(source: str) -> tuple[ast.AST, ...]:
    """All nodes of a module: each check looks through all of them."""
    return tuple(ast.walk(ast.parse(source)))


def list_functions(source: str, rooms: tuple[str, ...]) -> set[str]:
    """Functions of some rooms that a module imports, or modules that have them: names in small letters."""
    found = set()
    for node in list_nodes(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(rooms):
            found |= {alias.name for alias in node.names if alias.name[0].islower()}
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(rooms)}
    return found


def list_inferences(source: str) -> set[str]:
    """What a module computes that is inference: with a library, an estimate, an interval, against alpha."""
    found = set()
    for node in list_nodes(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(LIBRARIES)}
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(LIBRARIES):
            found.add(str(node.module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {node.func.attr} & ESTIMATES
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & {"Interval", "Ratio"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_mean(node):
            found.add("sum over len")
        if isinstance(node, ast.Compare):
            names = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
            found |= {"alpha"} & names
    return found


def is_mean(node: ast.BinOp) -> bool:
    """Whether a fraction is a sum over a number of things."""
    names = [
        part.func.id if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) else ""
        for part in (node.left, node.right)
    ]
    return names == ["sum", "len"]


def read_modules() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


@pytest.mark.parametrize(
    ("rooms", "allowed"),
    [(INFERS, set()), (("datamill.design", "datamill.results"), PHRASES)],
)
def test_no_module_of_the_report_imports_what_infers(rooms: tuple[str, ...], allowed: set[str]) -> None:
    found = {
        (path, name) for path, source in read_modules().items() for name in list_functions(source, rooms)
    }
    assert {(path, name) for path, name in found if name not in allowed} == set()
    assert allowed - {name for _, name in found} == set()


def test_no_module_of_the_report_infers_by_itself() -> None:
    found = {path: list_inferences(source) for path, source in read_modules().items()}
    assert {path for path, names in found.items() if names} == set(ALLOWED), found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "from datamill.analysis.answer.response import ResponseAnalysis, analyze_response",
            "analyze_response",
        ),
        ("from datamill.allocators.kernel import system_calls", "system_calls"),
        ("import datamill.selection.profiles.profile", "datamill.selection.profiles.profile"),
    ],
)
def test_a_function_is_told_from_a_record(source: str, found: str) -> None:
    assert list_functions(source, INFERS) == {found}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from scipy.special import stdtrit", "scipy.special"),
        ("import scipy.stats", "scipy.stats"),
        ("low = np.quantile(values, 0.25)", "quantile"),
        ("spread = values.std(ddof=1)", "std"),
        ("from statistics import median", "statistics"),
        ("middle = float(np.median(values))", "median"),
        ("counts = np.bincount(cells.builds)", "bincount"),
        ("middle = sum(values) / len(values)", "sum over len"),
        ("shown = Interval(middle, middle, middle)", "Interval"),
        ("told = row.p is not None and row.p < model.alpha", "alpha"),
    ],
)
def test_inference_is_found_where_it_hides(source: str, found: str) -> None:
    assert list_inferences(source) == {found}
