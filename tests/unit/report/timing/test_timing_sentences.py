"""What `datamill time` says of played comparisons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from datamill.experiment.command_lines import read_commands
from datamill.experiment.experiment import Response
from datamill.experiment.responses import DEFAULT_RESPONSE
from datamill.report.timing.exports import spell_csv, spell_hyperfine
from datamill.report.timing.json import list_timing_values
from datamill.report.timing.markup import spell_asciidoc, spell_markdown, spell_orgmode
from datamill.report.timing.picture import draw_means
from datamill.report.timing.statement import list_comparisons, list_sentences, phrase_answer
from datamill.report.timing.timing_answer import CommandComparison, CommandMean, TimingAnswer

A, B, C = read_commands(["a", "b", "c"])


def compare(
    ratio: float | None, low: float | None, high: float | None, verdict: Any, **changes: Any
) -> CommandComparison:
    options = {"needed_rounds": 0, "typical": False} | changes
    return CommandComparison(A, B, ratio, low, high, verdict, **options)


def answer(*pairs: CommandComparison, means: tuple[CommandMean, ...] = (), **changes: Any) -> TimingAnswer:
    means = means or (CommandMean(A, 1.0, 0.98, 1.02, 20), CommandMean(B, 1.2, 1.1, 1.3, 20))
    options: dict[str, Any] = {
        "response": DEFAULT_RESPONSE, "confidence": 0.95, "limit": 0.01, "warnings": (), "measured_s": 44.0,
        "rounds": 20, "round_s": 2.2, "most_rounds": 1000, "interrupted": False, "bundle": "bundle",
    }  # fmt: skip
    return TimingAnswer(means=means, comparisons=pairs, **options | changes)


def make_means(*seconds: float) -> tuple[CommandMean, ...]:
    return tuple(
        CommandMean(command, mean, mean - 0.01, mean + 0.01, 20)
        for command, mean in zip((A, B, C), seconds, strict=True)
    )


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (compare(0.88, 0.86, 0.90, "faster"), "b is faster than a by 12.0% (10.0 to 14.0%)."),
        (compare(1.12, 1.10, 1.14, "slower"), "b is slower than a by 12.0% (10.0 to 14.0%)."),
        (compare(3.0, 2.8, 3.2, "slower"), "b takes 3.00 times (2.80 to 3.20) as long as a."),
        (compare(0.25, 0.2, 0.4, "faster"), "b is 4.0 times (2.5 to 5.0) as fast as a."),
        (
            compare(1.001, 0.995, 1.006, "unchanged"),
            "a and b take equally long, within ±1%: b differs by +0.10% (−0.50 to +0.60%).",
        ),
        (
            compare(1.03, 0.98, 1.08, "cannot tell"),
            "The data cannot tell yet whether a or b is faster: b differs by +3.0% (−2.0 to +8.0%).",
        ),
        (
            compare(1.05, 1.02, 1.08, "slower", typical=True),
            "b is slower than a by 5.0% (2.0 to 8.0%), in typical executions.",
        ),
        (
            compare(None, None, None, "cannot tell"),
            "The data cannot tell yet which of a and b is better: too few executions have ended.",
        ),
    ],
)
def test_a_pair_is_told_in_one_sentence(pair: CommandComparison, sentence: str) -> None:
    assert phrase_answer(answer(pair)) == sentence


def test_what_it_would_take_is_told_where_nothing_can_be_told_yet() -> None:
    pair = compare(1.03, 0.98, 1.08, "cannot tell", needed_rounds=120)
    sentences = list_sentences(answer(pair))
    assert sentences[1] == (
        "If it is as it seems, about 120 executions of each would tell: allow 4 min 24 s."
    )


def test_of_several_commands_the_best_is_named_with_those_that_may_be_as_good() -> None:
    means = make_means(1.0, 1.0, 2.0)
    pairs = (
        CommandComparison(A, B, 1.0, 0.99, 1.02, "cannot tell", 0, False),
        CommandComparison(A, C, 2.0, 1.9, 2.1, "slower", 0, False),
        CommandComparison(B, C, 2.0, 1.9, 2.1, "slower", 0, False),
    )
    told = phrase_answer(answer(*pairs, means=means))
    assert told == "a is the fastest, or as good as the fastest: the data do not tell it apart from b."


def test_the_next_best_of_several_commands_is_compared_with_the_best() -> None:
    means = make_means(1.2, 1.0, 1.1)
    pairs = (
        CommandComparison(A, B, 0.83, 0.82, 0.84, "faster", 0, False),
        CommandComparison(A, C, 0.92, 0.91, 0.93, "faster", 0, False),
        CommandComparison(B, C, 1.1, 1.09, 1.11, "slower", 0, False),
    )
    told = phrase_answer(answer(*pairs, means=means))
    assert told == "b is the fastest of 3. c is slower than b by 10.0% (9.0 to 11.0%)."


def three(**changes: Any) -> TimingAnswer:
    means = make_means(4.0, 1.0, 2.0)
    pairs = (
        CommandComparison(A, B, 0.25, 0.2, 0.4, "faster", 0, False),
        CommandComparison(A, C, 0.5, 0.48, 0.52, "faster", 0, False),
        CommandComparison(B, C, 1.5, 1.45, 1.55, "slower", 0, False),
    )
    return replace(answer(*pairs, means=means), **changes)


def test_each_of_several_commands_is_compared_with_the_best_once() -> None:
    assert phrase_answer(three()) == "b is the fastest of 3. c is slower than b by 50.0% (45.0 to 55.0%)."
    assert list_comparisons(three()) == ["a takes 4.0 times (2.5 to 5.0) as long as b."]
    assert list_comparisons(answer(compare(0.88, 0.86, 0.90, "faster"))) == []
    # What nothing bounds is no comparison.
    unknown = tuple(replace(pair, low=None, verdict="cannot tell") for pair in three().comparisons)
    assert list_comparisons(three(comparisons=unknown)) == []


def test_the_best_is_the_command_that_is_known_to_be_faster_whatever_rare_executions_made_of_its_mean() -> (
    None
):
    means = make_means(1.0, 1.15, 2.0)
    pairs = (
        CommandComparison(A, B, 0.9, 0.89, 0.91, "faster", 0, True),
        CommandComparison(A, C, 2.0, 1.9, 2.1, "slower", 0, False),
        CommandComparison(B, C, 2.22, 2.1, 2.3, "slower", 0, True),
    )
    told = phrase_answer(answer(*pairs, means=means))
    assert told == (
        "b is the fastest of 3. a is slower than b by 11.1% (9.9 to 12.4%), in typical executions."
    )


def test_alike_commands_stay_within_the_limit_that_they_were_judged_by() -> None:
    means = (CommandMean(A, 1.0, 0.98, 1.02, 20), CommandMean(B, 0.9, 0.88, 0.92, 20))
    means += (CommandMean(C, 9.0, 8.9, 9.1, 20),)
    pairs = (
        CommandComparison(A, B, 0.9, 0.82, 0.98, "unchanged", 0, False),
        CommandComparison(A, C, 9.0, 8.9, 9.1, "slower", 0, False),
        CommandComparison(B, C, 10.0, 9.8, 10.2, "slower", 0, False),
    )
    told = answer(*pairs, means=means, limit=0.2)
    sentences = (phrase_answer(told), *list_comparisons(told))
    assert any("within ±20%: b differs by −10.0% (−18.0 to −2.0%)" in line for line in sentences)


def test_with_a_reference_all_others_are_compared_with_that() -> None:
    assert list_comparisons(three(has_reference=True)) == [
        "b is 4.0 times (2.5 to 5.0) as fast as a.",
        "c is 2.000 times (1.923 to 2.083) as fast as a.",
    ]


def test_an_exchanged_comparison_says_the_same_the_other_way_round() -> None:
    pair = compare(0.5, 0.25, 0.8, "faster")
    assert pair.turn().turn() == pair
    turned = pair.turn()
    assert (turned.a, turned.b, turned.verdict) == (B, A, "slower")
    assert (turned.ratio, turned.low, turned.high) == (2.0, 1.25, 4.0)
    assert compare(0.5, 0.0, 1.2, "cannot tell").turn().high is None


def test_what_is_known_from_above_only_is_told_as_a_bound() -> None:
    memory = Response(name="peak_memory", unit="B", formula="peak_memory_bytes", direction="lower")
    small = CommandMean(A, 3e6, 2.99e6, 3.01e6, 20, is_bound=True)
    assert phrase_answer(answer(means=(small,), response=memory)).startswith(
        "The peak_memory of a is at most 3"
    )
    larger = compare(4.0, 3.9, 4.1, "slower", is_bound=True)
    assert phrase_answer(answer(larger, response=memory)).endswith(
        "than a: 300.0% (290.0 to 310.0%), at least."
    )
    hidden = compare(None, None, None, "cannot tell", is_bound=True)
    assert phrase_answer(answer(hidden, response=memory)) == (
        "The data cannot tell which of a and b has less peak_memory: values this small are known only as "
        "upper bounds."
    )


def test_the_picture_has_a_line_for_each_command_and_one_for_the_scale() -> None:
    lines = draw_means(answer(compare(1.2, 1.1, 1.3, "slower")))
    assert len(lines) == 3
    assert lines[0].index("●") < lines[1].index("●")
    assert all("├" in line and "┤" in line for line in lines[:2])
    assert lines[2].split() == ["0.98", "1.3", "s"]


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("label", ["a", "gzip -9 --keep --stdout file", "long " * 30])
def test_no_line_of_the_picture_is_longer_than_the_terminal_is_wide(columns: int, label: str) -> None:
    (named,) = read_commands([label])
    means = (CommandMean(named, 1.0, 0.98, 1.02, 20), CommandMean(B, 1.2, 1.1, 1.3, 20))
    lines = draw_means(answer(means=means), columns)
    # What a mean is, is never cut off; below forty-six columns the terminal folds it.
    assert max(map(len, lines)) <= max(columns, 50)
    assert sum("●" in line and "├" in line for line in lines) == 2
    assert sum("n = 20" in line for line in lines) == 2
    assert lines[-1].split() == ["0.98", "1.3", "s"]


def test_pictures_begin_below_each_other_whatever_script_names_are_in() -> None:
    wide, accented, long = read_commands(["sort 日本", "sort e\N{COMBINING ACUTE ACCENT}t", "日" * 30])
    means = tuple(CommandMean(item, 1.0, 0.98, 1.02, 20) for item in (wide, accented, A))
    begins = [line[: line.index("├")] for line in draw_means(answer(means=means))[:3]]
    # In columns of a terminal: two signs more than their number, one less, and as many.
    assert [len(text) + extra for text, extra in zip(begins, (2, -1, 0), strict=True)] == [13, 13, 13]
    shortened = draw_means(answer(means=(CommandMean(long, 1.0, 0.98, 1.02, 20), *means)))[0]
    assert shortened.startswith(f"  {'日' * 19}…   ")


def test_a_pipe_has_the_whole_picture_in_one_line_a_command() -> None:
    assert len(draw_means(answer())) == len(draw_means(answer(), 200)) == 3
    assert len(draw_means(answer(), 40)) == 7


def test_json_and_tables_hold_the_same_figures() -> None:
    found = answer(compare(0.88, 0.86, 0.90, "faster"))
    values = list_timing_values(found)
    assert values["commands"][0] == {
        "name": "a", "command": "a", "parameters": {}, "mean_s": 1.0, "low": 0.98, "high": 1.02, "n": 20,
        "upper_bound_only": False,
    }  # fmt: skip
    assert (values["comparisons"][0]["ratio"], values["comparisons"][0]["verdict"]) == (0.88, "faster")
    assert "0.880 (0.860 to 0.900)" in spell_markdown(found)
    assert "b,1.2,1.1,1.3,20,s,0.88,0.86,0.9,faster" in spell_csv(found, {})
    assert json.loads(spell_hyperfine(found, {})) == {"results": []}


def test_every_markup_has_a_row_for_each_command_and_the_answer_below() -> None:
    (piped,) = read_commands(["a | b"])
    means = (CommandMean(piped, 1.2, 1.1, 1.3, 20), CommandMean(A, 1.0, 0.98, 1.02, 20))
    pair = CommandComparison(piped, A, 0.83, 0.8, 0.9, "faster", 0, False)
    found = answer(pair, means=means, by_mean=True)
    sentence = "a is faster than a | b by 17.0% (10.0 to 20.0%)."
    assert spell_markdown(found).splitlines() == [
        "| Command | Mean | n | Ratio to the first |",
        "|:---|---:|---:|---:|",
        "| `a` | 1.000 s (95% interval 0.980 to 1.020) | 20 | 0.830 (0.800 to 0.900) |",
        r"| `a \| b` | 1.20 s (95% interval 1.10 to 1.30) | 20 | 1 |",
        "",
        sentence.replace("|", r"\|"),
    ]
    assert spell_asciidoc(found).splitlines()[8:17] == [
        "| `+a+`",
        "| 1.000 s (95% interval 0.980 to 1.020)",
        "| 20",
        "| 0.830 (0.800 to 0.900)",
        "",
        r"| `+a \| b+`",
        "| 1.20 s (95% interval 1.10 to 1.30)",
        "| 20",
        "| 1",
    ]
    assert spell_orgmode(found).splitlines() == [
        "| Command | Mean | n | Ratio to the first |",
        "|--+--+--+--|",
        "| =a= | 1.000 s (95% interval 0.980 to 1.020) | 20 | 0.830 (0.800 to 0.900) |",
        r"| a \vert{} b | 1.20 s (95% interval 1.10 to 1.30) | 20 | 1 |",
        "",
        sentence,
    ]


@pytest.mark.parametrize(
    ("command", "cell", "told"),
    [
        ("ssh you@host", "`ssh you@host`", "ssh you@\u200bhost"),
        ("sed s#12#13#", "`sed s#12#13#`", "sed s#\u200b12#\u200b13#\u200b"),
        ("echo `date`", "`` echo `date` ``", r"echo \`date\`"),
        ("echo ``x``", "``` echo ``x`` ```", r"echo \`\`x\`\`"),
        ("a |\r\nb", r"`a \| \nb`", r"a \| \\nb"),
        ("cat <in >out_*", "`cat <in >out_*`", r"cat &lt;in &gt;out\_\*"),
    ],
)
def test_a_command_makes_nothing_else_of_a_table_in_markdown_nor_of_the_sentence_below(
    command: str, cell: str, told: str
) -> None:
    (odd,) = read_commands([command])
    means = (CommandMean(A, 1.0, 0.98, 1.02, 20), CommandMean(odd, 1.2, 1.1, 1.3, 20))
    pair = CommandComparison(A, odd, 1.2, 1.1, 1.3, "slower", 0, False)
    lines = spell_markdown(answer(pair, means=means)).splitlines()
    assert lines[3].startswith(f"| {cell} | 1.20 s ")
    assert lines[4:] == ["", f"{told} is slower than a by 20.0% (10.0 to 30.0%)."]


def test_sorted_by_mean_the_picture_begins_with_the_least_and_json_stays_as_typed() -> None:
    means = (CommandMean(A, 1.2, 1.1, 1.3, 20), CommandMean(B, 1.0, 0.9, 1.1, 20))
    pair = compare(0.83, 0.8, 0.9, "faster")
    assert [line.split()[0] for line in draw_means(answer(pair, means=means))[:2]] == ["a", "b"]
    found = answer(pair, means=means, by_mean=True)
    assert [line.split()[0] for line in draw_means(found)[:2]] == ["b", "a"]
    assert [item["name"] for item in list_timing_values(found)["commands"]] == ["a", "b"]


def test_times_are_written_in_the_unit_that_was_asked_for_and_other_responses_in_their_own() -> None:
    times = answer(compare(1.2, 1.1, 1.3, "slower"), time_unit="ms")
    assert "1\u202f000 ms (95% interval 980 to 1\u202f020)" in spell_markdown(times)
    assert draw_means(times)[-1].endswith("1\u202f300 ms")
    memory = Response("peak_memory", "B", "peak_memory_bytes", "lower")
    assert "1.000 B" in spell_markdown(
        answer(compare(1.2, 1.1, 1.3, "slower"), response=memory, time_unit="ms")
    )
