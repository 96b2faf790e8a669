"""The report takes records of what was inferred, and infers nothing itself."""

from __future__ import annotations

import ast
from pathlib import Path

import datamill.report

ROOT = Path(datamill.report.__file__).parent
#: What describes data for a picture or a table, and what puts things into words. Shorten this list.
DESCRIBES = {
    "bin_observations",
    "find_boxes",
    "find_steps",
    "split_cells",
    "gather_cells",
    "merge_cells",
    "gather_diagnostics",
    "average_executions",
    "count_needed",
    "is_complete",
    "rank_changes",
    "name_quantiles",
    "phrase_left_out",
}


def list_functions(source: str) -> set[str]:
    """Functions of `datamill.analysis` that a module imports: names in small letters."""
    return {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("datamill.analysis")
        for alias in node.names
        if alias.name[0].islower()
    }


def test_no_module_of_the_report_imports_what_infers() -> None:
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in ROOT.rglob("*.py")
        for name in list_functions(path.read_text(encoding="utf-8"))
    }
    assert {(path, name) for path, name in found if name not in DESCRIBES} == set()
    assert DESCRIBES - {name for _, name in found} == set()


def test_a_function_is_told_from_a_record() -> None:
    source = "from datamill.analysis.answer.response import ResponseAnalysis, analyze_response\n"
    assert list_functions(source) == {"analyze_response"}
