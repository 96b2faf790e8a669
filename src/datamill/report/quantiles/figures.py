"""Effects by quantile, as ASPLOS Figure 7: a panel an effect, a line on the band of its intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from datamill.analysis.linear.mean_lines import MeanLines
from datamill.analysis.quantile.quantile_model import Described, QuantileModel
from datamill.experiment.messages.numbers import format_level, format_p
from datamill.report.figures.figure import INK, Figure
from datamill.report.quantiles.answer import choose_model_scale, rank_terms
from datamill.report.words.term_names import spell_coefficient

#: Panels of one figure, the intercept's among them.
MOST_PANELS = 12
_COLUMNS = 3
#: How effects are coded: −1/+1, or 0/1 from the first level on.
Coding = Literal["effect", "zero-one"]
#: The colour of what least squares give, as in the thesis of 2019.
_MEAN_COLOR = "#c4504a"
#: What an effect is in each coding.
_CODINGS: dict[Coding, str] = {
    "effect": "An effect is half the change from the low to the high level; the intercept is what effects "
    "act "
    "about.",
    "zero-one": "An effect is the change from the first level of a factor (coded 0/1); the intercept is "
    "where "
    "all factors are at their first.",
}
#: Width of a panel and of the gap to the next, in pixels: a longer title would lie upon its neighbour's.
_WIDTH, _SPACING = 210, 40


def draw_effects_by_quantile(
    observations: Described,
    model: QuantileModel,
    *,
    mean: MeanLines | None = None,
    coding: Coding = "effect",
) -> Figure:
    """Draw every effect over the quantiles; of very many the strongest, which the caption says.

    `mean` adds what least squares give, as a line over all quantiles (thesis 2019, Figure 2.1b). In the 0/1
    coding a coefficient is the change from the first level of a factor.
    """
    scale = choose_model_scale(model, observations.unit)
    if coding == "zero-one" and model.fits[0].changes:
        model = replace(model, fits=tuple(replace(fit, coefficients=fit.changes) for fit in model.fits))
    else:
        coding = "effect"
    panels = _choose_panels(model)
    lines = () if mean is None else mean.changes if coding == "zero-one" else mean.effects
    points = []
    for fit in model.fits:
        found = {term.term.name: model.detects(fit, term) for term in fit.terms}
        for row in fit.coefficients:
            if row.name not in panels:
                continue
            detected = "" if not row.term else "yes" if found[row.term] else "no"
            points.append(
                {
                    "effect": row.name,
                    "shown": spell_coefficient(row.name, row.term),
                    "quantile": fit.quantile,
                    "estimate": row.value.estimate * scale.factor,
                    "low": row.value.low * scale.factor,
                    "high": row.value.high * scale.factor,
                    "p": format_p(row.p) if row.term else "",
                    "detected": detected,
                }
            )
    of_term = {row.name: row.term for row in model.fits[0].coefficients}
    titles = {name: spell_coefficient(name, of_term[name]) for name in panels}
    unit = f" ({scale.unit})" if scale.unit else ""
    level = format_level(model.confidence)
    left_out = len(model.fits[0].coefficients) - len(panels)
    means = [
        {
            "effect": row.name,
            "mean": row.value.estimate * scale.factor,
            "low": row.value.low * scale.factor,
            "high": row.value.high * scale.factor,
        }
        for row in lines
        if row.name in panels
    ]
    caption = (
        f"Each panel shows one effect on {observations.response} (line) from low to high quantiles, with its "
        f"{level} interval (band); where the band meets the zero line, the effect may be none. "
        f"{_CODINGS[coding]} "
        "Scales differ between panels. A filled point was detected, adjusted for the number of terms."
    )
    if means:
        caption += " The red dashed line is the effect on the mean, by least squares, with its interval."
    if left_out:
        caption += f" The {left_out} weakest effects are left out."
    return Figure(
        name="effects-by-quantile",
        title=f"Effects on {observations.response} by quantile{unit}",
        caption=caption,
        chart=_compose(points, means, titles, unit.strip(" ()"), level),
    )


def _choose_panels(model: QuantileModel) -> list[str]:
    """Names of the coefficients with a panel, in the order of the model."""
    columns = {row.name: row.term for row in model.fits[0].coefficients}
    main = {term.name for term in model.terms if term.order == 1}
    strongest = sorted(rank_terms(model), key=lambda name: name not in main)
    kept: list[str] = []
    for term in strongest:
        own = [name for name, of in columns.items() if of == term]
        if len(kept) + len(own) < MOST_PANELS or not kept:
            kept += own
    kept = kept[: MOST_PANELS - 1]
    return ["intercept", *(name for name in columns if name in kept)]


def _compose(
    points: list[dict[str, Any]], means: list[dict[str, Any]], panels: dict[str, str], unit: str, level: str
) -> dict[str, Any]:
    x = {
        "field": "quantile",
        "type": "quantitative",
        "title": "quantile",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"values": [0.1, 0.3, 0.5, 0.7, 0.9], "format": ".1f", "grid": False},
    }
    y = {"field": "estimate", "type": "quantitative", "title": unit or None, "scale": {"zero": False}}
    tooltip = [
        {"field": "shown", "type": "nominal", "title": "effect"},
        {"field": "quantile", "type": "quantitative"},
        {"field": "estimate", "type": "quantitative", "format": ".4~g", "title": f"estimate {unit}".strip()},
        {"field": "low", "type": "quantitative", "format": ".4~g", "title": f"low {level}"},
        {"field": "high", "type": "quantitative", "format": ".4~g", "title": f"high {level}"},
        {"field": "p", "type": "nominal", "title": "p"},
        {"field": "detected", "type": "nominal"},
    ]
    band = {**y, "field": "low"}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "area", "color": "#8c8c8c", "opacity": 0.35},
            "encoding": {"x": x, "y": band, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "rule", "color": "#8c8c8c", "strokeWidth": 1.2, "opacity": 0.8},
            "encoding": {"x": x, "y": band, "y2": {"field": "high"}},
        },
        {
            "transform": [{"filter": "datum.effect != 'intercept'"}],
            "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3], "opacity": 0.6},
            "encoding": {"y": {"datum": 0, "type": "quantitative"}},
        },
        {"mark": {"type": "line", "color": INK, "strokeWidth": 1.6}, "encoding": {"x": x, "y": y}},
        {
            "mark": {"type": "point", "size": 34, "strokeWidth": 1.4, "stroke": INK, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "fill": {"value": INK},
                "fillOpacity": {"condition": {"test": "datum.detected != 'no'", "value": 1}, "value": 0},
                "tooltip": tooltip,
            },
        },
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": points},
        # Panels one by one: a facet's last row would have axes under empty places.
        "concat": [
            {
                "title": {"text": title, "anchor": "middle", "fontSize": 12, "limit": _WIDTH + _SPACING},
                "transform": [{"filter": {"field": "effect", "equal": panel}}],
                "width": _WIDTH,
                "height": 140,
                # Below the line of the quantiles, and with data of its own.
                "layer": [*layers[:3], *_layer_means(means, panel, unit, level), *layers[3:]],
            }
            for panel, title in panels.items()
        ],
        "columns": _COLUMNS,
        "spacing": {"row": 24, "column": _SPACING},
    }


def _layer_means(means: list[dict[str, Any]], panel: str, unit: str, level: str) -> list[dict[str, Any]]:
    """A panel's effect on the mean over all quantiles, on the band of its interval; nothing without one."""
    own = {"data": {"values": [row for row in means if row["effect"] == panel]}}
    if not own["data"]["values"]:
        return []
    y = {"field": "mean", "type": "quantitative"}
    whole = {"x": {"datum": 0}, "x2": {"datum": 1}}
    tooltip = [
        {"field": "mean", "type": "quantitative", "format": ".4~g", "title": f"of the mean {unit}".strip()},
        {"field": "low", "type": "quantitative", "format": ".4~g", "title": f"low {level}"},
        {"field": "high", "type": "quantitative", "format": ".4~g", "title": f"high {level}"},
    ]
    return [
        {
            **own,
            "mark": {"type": "rect", "color": _MEAN_COLOR, "opacity": 0.12},
            "encoding": {**whole, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            **own,
            "mark": {"type": "rule", "color": _MEAN_COLOR, "strokeDash": [5, 3], "strokeWidth": 1.6},
            "encoding": {"y": y, "tooltip": tooltip},
        },
    ]
