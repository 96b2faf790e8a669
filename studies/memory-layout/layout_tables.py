"""The study's tables, as Markdown that is legible as it is; published figures stand beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from layout_effects import Effect, Occasion, SpreadTest, summarize_term
from study_tables import Row, Table, spell_p

#: Thesis 2015, Table 5.2: mean and largest absolute effects in percent of the mean, first and a week later.
PUBLISHED = {
    "env_padding": (("0.000032", "0.00035"), ("0.000045", "0.00031")),
    "aslr": (("0.23", "2.8"), ("0.42", "5.94")),
}
#: What its sections 5.2 to 5.6 say of variability.
PUBLISHED_TESTS = {("aslr", "env_padding"): "0.49", ("aslr", "pie"): "0.491"}
PUBLISHED_CV = "0.00001 to 0.1"
#: What its text says of the effects of experiments 2 and 3.
PUBLISHED_BOUNDS = {
    "aslr": "within 3",
    "pie": "tightly around 0",
    "aslr:pie": "within 3",
    "warmups": "within 3",
    "reboot": "within 3",
    "warmups:reboot": "within 3",
}


def name_term(term: str) -> str:
    """A term as prose has it: an interaction with a cross."""
    return term.replace(":", " × ")


def tabulate_effects(occasion: Occasion) -> Table:
    """A line for each benchmark: mean time and each effect ± one standard error, with its p."""
    head = ["benchmark", "mean (s)"]
    for term in occasion.terms:
        head += [f"{name_term(term)} (%)", "p"]
    rows = []
    for benchmark in occasion.benchmarks:
        row = [benchmark, f"{occasion.means[benchmark]:.3f}"]
        for term in occasion.terms:
            found = [effect for effect in occasion.select(term) if effect.benchmark == benchmark]
            row += [_spell_effect(found[0]), spell_p(found[0].p)] if found else ["–", "–"]
        rows.append(tuple(row))
    return tuple(head), rows


def tabulate_repeat(occasions: Sequence[Occasion]) -> Table:
    """The thesis' Table 5.2: mean and largest absolute effect of each term, published and ours."""
    names = [occasion.name for occasion in occasions]
    head = ("absolute effect, % of the mean", "thesis", "its repeat", *names)
    rows: list[Row] = []
    for term in occasions[0].terms:
        found = [summarize_term(occasion, term) if occasion.select(term) else None for occasion in occasions]
        told = PUBLISHED.get(term) if "env_padding" in occasions[0].factors else None
        bound = (PUBLISHED_BOUNDS.get(term, "–"), "–")
        means = (told[0][0], told[1][0]) if told else ("–", "–")
        largest = (told[0][1], told[1][1]) if told else bound
        word = name_term(term)
        rows += [
            (f"{word}, mean", *means, *(f"{item.mean:.3f}" if item else "–" for item in found)),
            (
                f"{word}, mean if noise alone",
                "–",
                "–",
                *(f"{item.noise:.3f}" if item else "–" for item in found),
            ),
            (
                f"{word}, largest",
                *largest,
                *(
                    f"{abs(item.largest.percent):.2f} ({item.largest.benchmark})" if item else "–"
                    for item in found
                ),
            ),
            (
                f"{word}, p of the largest",
                *(("not significant", "not significant") if term == "aslr" and told else ("–", "–")),
                *(spell_p(item.largest.p) if item else "–" for item in found),
            ),
            (
                f"{word}, benchmarks with p < 0.01",
                "–",
                "–",
                *(f"{item.below_001} of {item.n}" if item else "–" for item in found),
            ),
        ]
    with_p = [[effect.p for effect in occasion.effects] for occasion in occasions]
    third = "reboot" in occasions[0].factors
    rows.append(
        (
            "estimates with p > 0.05, all terms",
            "78 %" if third else "–",
            "–",
            *(f"{100 * sum(p is None or p > 0.05 for p in ps) / len(ps):.0f} %" for ps in with_p),
        )
    )
    rows.append(("coefficients of variation", PUBLISHED_CV, "–", *(_spell_range(item) for item in occasions)))
    for factor in occasions[0].factors:
        published = PUBLISHED_TESTS.get(("aslr", occasions[0].factors[-1])) if factor == "aslr" else None
        tests = [next((t for t in item.tests if t.factor == factor), None) for item in occasions]
        rows += [
            (
                f"variability, {factor}: Kruskal–Wallis p",
                published or "–",
                "–",
                *(_spell_test(t) for t in tests),
            ),
            (
                f"variability, {factor}: p within benchmarks",
                "–",
                "–",
                *(spell_p(t.p_within) if t else "–" for t in tests),
            ),
        ]
    machines = ("17 × 11", "13 × 9") if "env_padding" in occasions[0].factors else ("–", "–")
    rows.append(("machines × benchmarks", *machines, *(f"1 × {len(item.benchmarks)}" for item in occasions)))
    return head, rows


def tabulate_spreads(occasion: Occasion) -> Table:
    """A line for each benchmark: its coefficient of variation at each design point, in percent."""
    points = list(dict.fromkeys(spread.levels for spread in occasion.spreads))
    head = ("benchmark: CV (%) at", *(", ".join(levels) for levels in points))
    found = {(spread.benchmark, spread.levels): spread.cv for spread in occasion.spreads}
    benchmarks = dict.fromkeys(spread.benchmark for spread in occasion.spreads)
    rows = [
        (name, *(f"{100 * found[name, at]:.2f}" if (name, at) in found else "–" for at in points))
        for name in benchmarks
    ]
    return head, rows


def say_result(occasions: Sequence[Occasion]) -> str:
    """The largest effect, whether it can be told from noise, and the largest that can."""
    effects = [effect for occasion in occasions for effect in occasion.effects]
    worst = max(effects, key=lambda effect: abs(effect.percent))
    told = [effect for effect in effects if effect.p is not None and effect.p < 0.01]
    said = (
        f"The largest effect is that of {_spell_found(worst)}, which "
        f"{'differs from zero' if worst in told else 'cannot be told apart from noise'} "
        f"({_equate_p(worst.p)}, one of {len(effects)} estimates)."
    )
    if told and worst not in told:
        surest = max(told, key=lambda effect: abs(effect.percent))
        said += (
            f" The largest of the {len(told)} with p < 0.01 is that of {_spell_found(surest)} "
            f"({_equate_p(surest.p)})."
        )
    return said


def list_notes(occasion: Occasion) -> tuple[str, ...]:
    """What limits the figures of an occasion."""
    notes = list(occasion.warnings)
    if occasion.left_out:
        notes.append(f"{occasion.left_out} trials are left out; the table of the bundle says why")
    if occasion.doubtful:
        notes.append(
            f"{occasion.doubtful} of {occasion.trials} trials may have been disturbed, and are counted "
            "all the same"
        )
    return tuple(f"{occasion.name}: {note}." for note in notes)


def _equate_p(p: float | None) -> str:
    text = spell_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _spell_found(effect: Effect) -> str:
    return (
        f"{name_term(effect.term)} on {effect.benchmark}: {effect.percent:+.2f} % of the mean ± "
        f"{effect.standard_error:.2f} ({effect.seconds:+.4f} s)"
    )


def _spell_effect(effect: Effect) -> str:
    return f"{effect.percent:+.3f} ± {effect.standard_error:.3f}"


def _spell_range(occasion: Occasion) -> str:
    values = [spread.cv for spread in occasion.spreads]
    return f"{min(values):.5f} to {max(values):.3f}" if values else "–"


def _spell_test(test: SpreadTest | None) -> str:
    return "–" if test is None else spell_p(test.p)
