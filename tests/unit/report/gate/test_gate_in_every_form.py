"""The page, the comment and the JSON of a gate say the same."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from datamill.analysis.gate.judge_benchmarks import BASE, HEAD, judge_benchmarks
from datamill.analysis.gate.power import average_power, find_all_slowdowns
from datamill.analysis.sequential.rounds import Rounds
from datamill.experiment.gate.gate import Benchmark, Gate
from datamill.report.gate.comment import write_comment
from datamill.report.gate.gate_answer import GateAnswer, build_gate_answer
from datamill.report.gate.json import list_gate_values
from datamill.report.gate.page import build_gate_table, draw_changes, render_gate_page
from datamill.report.gate.statement import list_rows, phrase_gate
from datamill.report.tables.text import lay_out_table


@pytest.fixture(scope="module")
def answer() -> GateAnswer:
    """A benchmark that became slower, one that did not change, and one with a single round."""
    generator = np.random.default_rng(3)

    def draw(slowdown: float, count: int) -> Rounds:
        values = generator.normal([0.02, 0.02 * (1 + slowdown)], 0.0002, (count, 2))
        return Rounds((BASE, HEAD), tuple(range(count)), values, executions=2)

    rounds = {"slow": draw(0.1, 30), "same": draw(0.0, 30), "new|ish": draw(0.0, 1)}
    gate = Gate(tuple(Benchmark(name, name) for name in rounds))
    found = find_all_slowdowns(rounds, alpha=gate.alpha, tolerate=0.0)
    return build_gate_answer(
        gate,
        judge_benchmarks(rounds, alpha=gate.alpha, limit=gate.limit, tolerate=0.0),
        found,
        average_power(found),
        base="main",
        head="HEAD",
        broken=(),
        added=(),
        warnings=(),
        sweeps=30,
        varies=True,
        measured_s=12.0,
        interrupted=False,
    )


def test_the_comment_and_the_page_have_the_same_cells(answer: GateAnswer) -> None:
    comment, page = write_comment(answer), html.unescape(render_gate_page(answer))
    for row in list_rows(answer):
        for cell in row:
            assert cell in page
            assert cell.replace("|", "\\|") in comment


def test_a_gate_that_passes_says_below_which_size_slowdowns_pass_unseen(answer: GateAnswer) -> None:
    same = tuple(item for item in answer.benchmarks if item.name == "same")
    passing = replace(answer, benchmarks=same)
    [finds] = [row[6] for row in list_rows(passing)]
    assert phrase_gate(passing) == (
        "The benchmark is not known to be slower in HEAD than in main; smaller slowdowns than "
        f"{finds} would have been found in fewer than four of five runs."
    )
    keener = replace(same[0], name="keen", detectable=0.013)
    blunt = replace(same[0], detectable=0.34)
    # The second benchmark finds smaller slowdowns than the first, and the sentence must not deny it.
    assert phrase_gate(replace(answer, benchmarks=(blunt, keener))).endswith(
        "one of 34% would have been found in any of them in four of five runs, "
        "smaller ones in some of them or less often."
    )


def test_the_numbers_of_the_json_are_those_of_the_table(answer: GateAnswer) -> None:
    values = {item["name"]: item for item in list_gate_values(answer)["benchmarks"]}
    for name, change, interval, base, head, n, finds, _ in list_rows(answer):
        item = values[name]
        assert int(n) == item["n"]
        if name == "new|ish":
            continue
        assert read_numbers(change) == pytest.approx([100 * item["change"]], rel=0.05, abs=0.05)
        assert read_numbers(interval) == pytest.approx([100 * item["low"], 100 * item["high"]], abs=0.1)
        for side, told in (("base", base), ("head", head)):
            keys = (f"{side}_mean_s", f"{side}_low_s", f"{side}_high_s")
            assert read_numbers(told) == pytest.approx([1e3 * item[key] for key in keys], rel=0.01)
        assert read_numbers(finds) == pytest.approx([100 * item["detectable"]], rel=0.1)


def test_no_mean_stands_without_its_interval(answer: GateAnswer) -> None:
    rows = {row[0]: row for row in list_rows(answer)}
    assert rows["new|ish"][3:5] == ("–", "–")
    assert re.fullmatch(r"[\d.]+ ms \([\d.]+ to [\d.]+\)", rows["slow"][3])


def test_means_give_way_in_a_narrow_terminal_and_verdicts_do_not(answer: GateAnswer) -> None:
    whole, narrow = build_gate_table(answer), build_gate_table(answer, 80)
    assert len(whole.headers) == 8
    assert narrow.headers == ("benchmark", "change", "95% interval", "n", "finds", "verdict")
    assert [row[-1] for row in narrow.rows] == [row[-1] for row in whole.rows]
    assert narrow.numeric == (False, True, True, True, True, False)
    assert max(map(len, lay_out_table(narrow))) <= 80 < max(map(len, lay_out_table(whole)))
    assert build_gate_table(answer, 200) == whole


def test_one_wide_interval_does_not_squeeze_the_others_in_the_picture(answer: GateAnswer) -> None:
    usual = answer.benchmarks[:2]
    wide = replace(usual[1], name="wide", low=-0.5, high=70.0)
    cut = draw_changes(replace(answer, benchmarks=(*usual, wide)))
    domains = [layer["encoding"]["x"]["scale"]["domain"] for layer in cut.chart["layer"][1:]]
    assert domains[0] == domains[1]
    assert -50 <= domains[0][0] < 0
    assert 100 * (usual[0].high or 0.0) < domains[0][1] < 100
    assert "Bars that end at the edge go on" in cut.caption
    whole = draw_changes(replace(answer, benchmarks=usual))
    assert "go on" not in whole.caption
    assert all("scale" not in layer["encoding"]["x"] for layer in whole.chart["layer"])


def test_times_are_folded_away_in_a_comment(answer: GateAnswer) -> None:
    shown, folded = write_comment(answer).split("<details>")
    (slow,) = [row for row in list_rows(answer) if row[0] == "slow"]
    assert slow[1] in shown
    assert slow[3] not in shown
    assert slow[3] in folded


def test_a_comment_on_no_benchmark_at_all_does_not_say_that_no_slowdown_was_found(
    answer: GateAnswer,
) -> None:
    empty = replace(answer, benchmarks=(), added=("one",))
    assert "### Nothing compared" in write_comment(empty)
    quiet = [replace(item, detectable=0.03) for item in answer.benchmarks if not item.is_alarm]
    assert "### No slowdown found" in write_comment(replace(answer, benchmarks=tuple(quiet)))


@pytest.mark.parametrize("size", [None, 0.6])
def test_a_comment_of_a_gate_that_would_have_overlooked_half_does_not_read_as_good_news(
    answer: GateAnswer, size: float | None
) -> None:
    quiet = [replace(item, detectable=0.03) for item in answer.benchmarks if not item.is_alarm]
    unsure = replace(quiet[0], name="unsure", detectable=size, verdict="cannot tell")
    many = replace(answer, benchmarks=(*quiet, unsure))
    written = write_comment(many)
    count = len(many.benchmarks)
    assert f"### Cannot tell for 1 of {count} benchmarks: too little measured" in written
    assert "No slowdown" not in written
    assert "### Cannot tell: too little measured" in write_comment(replace(answer, benchmarks=(unsure,)))
    # What is known to be the same is so, and what is tolerated was not looked for.
    same = replace(unsure, verdict="unchanged")
    assert "### No slowdown found" in write_comment(replace(answer, benchmarks=(same,)))
    tolerant = replace(answer, benchmarks=(unsure,), gate=replace(answer.gate, tolerate=0.6))
    assert ("### No slowdown found" in write_comment(tolerant)) == (size is not None)


@pytest.mark.parametrize(
    ("sign", "spelled"),
    [
        *((sign, f"\\{sign}") for sign in "\\`*_[]|~$"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        # Whoever has the name, or the issue the number, is looked for after Markdown.
        ("@", "@\u200b"),
        ("#", "#\u200b"),
    ],
)
def test_a_sign_in_a_name_makes_nothing_else_of_a_comment(
    answer: GateAnswer, sign: str, spelled: str
) -> None:
    named = replace(answer.benchmarks[0], name=f"of {sign}12")
    odd = replace(
        answer,
        benchmarks=(named,),
        broken=(f"a{sign}b fails",),
        added=(f"c{sign}d",),
        warnings=(f"e{sign}f is odd",),
    )
    comment = write_comment(odd)
    for told in (f"of {sign}12", f"a{sign}b", f"c{sign}d", f"e{sign}f"):
        assert told.replace(sign, spelled) in comment
        assert told not in comment


def read_numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[-+]?[\d.]+", text.replace("−", "-"))]
