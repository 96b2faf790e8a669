"""The suite on the machines of the pool: tree of benchmarks, lines over machines, three small models."""

from __future__ import annotations

from typing import Any

import numpy as np

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures
from datamill.late import alt
from datamill.platforms.evaluation.example_models import ExampleModel, ExampleModels
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation
from datamill.report.figures.charts import choose_mark
from datamill.report.figures.figure import INK, Figure, leave_room

_COLOR, _TARGET = "#2f7ec1", "#dd7f1e"
#: Lines that have a colour and a name.
_HIGHLIGHTED = 3
#: Machines up to which dots bear their names.
_NAMED = 24


def draw_tree(evaluation: PlatformEvaluation) -> Figure:
    """Dendrogram of the benchmarks by correlation of their times over machines (thesis 2015, Figure 7.5).

    Raises:
        InputError: fewer than two benchmarks differ between machines.
    """
    tree = evaluation.tree
    if not len(tree.heights):
        raise InputError("fewer than two benchmarks differ between machines", remedy="Draw another picture.")
    names = [evaluation.pool.benchmarks[column] for column in tree.columns]
    place = {int(leaf): float(rank) for rank, leaf in enumerate(tree.order)}
    height = dict.fromkeys(place, 0.0)
    lines: list[dict[str, float]] = []
    for step, (first, second) in enumerate(tree.merges.tolist()):
        joined = float(tree.heights[step])
        lines += [
            {"x": height[part], "x2": joined, "y": place[part], "y2": place[part]} for part in (first, second)
        ]
        lines.append({"x": joined, "x2": joined, "y": place[first], "y2": place[second]})
        place[len(names) + step] = (place[first] + place[second]) / 2
        height[len(names) + step] = joined
    leaves = [{"y": rank, "name": names[leaf], "x": 0.0} for rank, leaf in enumerate(tree.order.tolist())]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(names) - 0.5, -0.5]))
    x = alt.X(
        "x:Q",
        title="1 − correlation at which clusters join",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=6),
    )
    rules = alt.Chart(alt.InlineData(values=lines)).mark_rule(strokeWidth=1.4, color=_COLOR)
    texts = alt.Chart(alt.InlineData(values=leaves)).mark_text(align="right", dx=-6, color=INK)
    chart = alt.layer(rules.encode(x, y, x2="x2:Q", y2="y2:Q"), texts.encode(x, y, text="name:N")).properties(
        width=480, height=max(80, 17 * len(names)), padding=leave_room(names)
    )
    text = (
        f"Benchmarks that join far to the left have times that go together over "
        f"{len(evaluation.plan.machines)} machines (complete linkage). "
        "A vertical cut gives clusters, of each of which one can stand for the rest."
    )
    return Figure("benchmark-tree", "Which benchmarks go together", text, chart.to_dict())


def draw_lines(evaluation: PlatformEvaluation) -> Figure:
    """Times of each benchmark over the suite's geometric mean on each machine (thesis 2015, Figure 7.1)."""
    pool, means = evaluation.pool, evaluation.suite_means
    order = np.argsort(means, kind="stable")
    chosen = evaluation.list_contrary(_HIGHLIGHTED)
    rows = [
        {
            "benchmark": name,
            "line": name if name in chosen else "others",
            "mean": float(means[row]),
            "seconds": float(pool.seconds[row, column]),
            "machine": pool.machines[row],
        }
        for column, name in enumerate(pool.benchmarks)
        for row in order
    ]
    rows += [
        {
            "benchmark": "geometric mean",
            "line": "geometric mean",
            "mean": value,
            "seconds": value,
            "machine": name,
        }
        for name, value in zip([pool.machines[row] for row in order], means[order].tolist(), strict=True)
    ]
    names = [*chosen, "geometric mean", "others"]
    color = alt.Color(
        "line:N",
        scale=alt.Scale(
            domain=names, range=[*(choose_mark(place).color for place in range(len(chosen))), INK, "#8c8c8c"]
        ),
        sort=names,
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    unit = "s" if pool.kind == "seconds" else "1 / score"
    encoding: dict[str, Any] = {
        "x": alt.X(
            "mean:Q", title=f"suite's geometric mean on the machine ({unit})", scale=_scale_log(means)
        ),
        "y": alt.Y("seconds:Q", title=f"benchmark ({unit})", scale=_scale_log(pool.seconds)),
        "color": color,
        "detail": "benchmark:N",
        "tooltip": ["benchmark:N", "machine:N", "seconds:Q"],
    }
    faint = base.transform_filter("datum.line == 'others'").mark_line(strokeWidth=0.8, opacity=0.35)
    strong = base.transform_filter("datum.line != 'others'").mark_line(strokeWidth=2, point={"size": 22})
    chart = alt.layer(faint.encode(**encoding), strong.encode(**encoding)).properties(width=620, height=360)
    text = (
        f"Each line is a benchmark, each of its points a machine, ordered by the suite's mean. Where a line "
        f"falls to the right, the suite's mean orders two machines wrongly for that benchmark; "
        f"{', '.join(chosen)} do so most."
    )
    return Figure("benchmarks-by-suite-mean", "Benchmarks against the suite's mean", text, chart.to_dict())


def draw_models(evaluation: PlatformEvaluation) -> Figure:
    """Models with one predictor, with the target that they were not trained on (thesis 2015, Figure 7.2)."""
    example = evaluation.example
    unit = "s" if evaluation.pool.kind == "seconds" else "1 / score"
    panels = [_chart_model(example, model, unit) for model in example.models]
    chart = alt.hconcat(*panels, spacing=22)
    text = (
        f"{example.application} by one predictor each, trained on all machines but {example.target} "
        "(orange), both drawn by the seed. The line is the model; the orange dot's distance from it is the "
        "error of the prediction."
    )
    return Figure("models-of-one-predictor", f"Models of {example.application}", text, chart.to_dict())


def _chart_model(example: ExampleModels, model: ExampleModel, unit: str) -> Any:
    rows = [
        {"x": value, "y": seconds, "machine": name, "target": name == example.target}
        for value, seconds, name in zip(
            model.values.tolist(), example.seconds.tolist(), example.machines, strict=True
        )
    ]
    ends = [float(np.min(model.values)), float(np.max(model.values))]
    line = [{"x": end, "y": model.intercept + model.slope * end} for end in ends]
    x = alt.X(
        "x:Q", title=model.predictor, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(tickCount=5)
    )
    y = alt.Y("y:Q", title=f"{example.application} ({unit})", scale=alt.Scale(zero=False, padding=12))
    color = alt.condition("datum.target", alt.value(_TARGET), alt.value(_COLOR))
    base = alt.Chart(alt.InlineData(values=rows))
    layers = [
        alt.Chart(alt.InlineData(values=line)).mark_line(strokeWidth=1.6, color=_COLOR).encode(x, y),
        base.mark_point(filled=True, size=40, opacity=0.9).encode(
            x, y, color=color, tooltip=["machine:N", "x:Q", "y:Q"]
        ),
    ]
    if max(map(len, example.machines)) <= 6 and len(rows) <= _NAMED:
        layers.append(
            base.mark_text(align="left", dx=6, fontSize=9, color=INK).encode(x, y, text="machine:N")
        )
    sign = "−" if model.slope < 0 else "+"
    numbers = [
        f"{unit} = {format_figures(model.intercept, 4)} {sign} {format_figures(abs(model.slope), 4)} x",
        f"RMSE: residual {format_figures(model.residual_rmse)}, "
        f"prediction {format_figures(model.prediction_rmse)}",
    ]
    return alt.layer(*layers).properties(
        width=260, height=230, title=alt.Title(model.predictor, subtitle=numbers)
    )


def _scale_log(values: np.ndarray) -> Any:
    low, high = float(np.min(values)), float(np.max(values))
    return alt.Scale(type="log", domain=[low / 1.05, high * 1.05], nice=False)
