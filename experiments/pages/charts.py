"""The charts of a report, as Vega-Lite describes charts.

Names are values of the data, never parts of an expression, and fields have fixed names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.pages.sections import FRONT, LEAST, OTHER, Curve, Found, Section
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.models import room_of

Spec = dict[str, Any]

_INK = "currentColor"
_AXIS = {"labelColor": _INK, "titleColor": _INK, "domainColor": _INK, "tickColor": _INK}
_LOOK = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {**_AXIS, "gridColor": _INK, "gridOpacity": 0.15, "labelLimit": 110, "tickCount": 6},
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "orient": "bottom",
        "columns": 3,
        "labelLimit": 160,
    },
    # Okabe and Ito's colours, without those that are lost on a white or a black page, and more.
    "range": {
        "category": [
            *("#0f7dc2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"),
            *("#8a6d3b", "#8f7fe0", "#8a8f98", "#9bbb2c"),
        ]
    },
}
# One prefix for all numbers of an axis would make "0M" of 0.
_SHORT = {"labelExpr": "format(datum.value, '~s')", "tickCount": 5}
_HEIGHT = 300
_BAR = 18
_LAYER = {"field": "layer", "type": "nominal"}
_FIGURES = {
    "latency_cycles": "latency (cycles)",
    "energy_nj": "energy (nJ)",
    "edp": "EDP (cycles x nJ)",
    "area_um2": "area of PEs and buffers (um^2)",
}
_SIZES = (
    ("size", "units", {"range": [20, 300]}),
    ("color", "capacity", {"scheme": "viridis", "reverse": True, "type": "log"}),
)


@dataclass(frozen=True)
class Chart:
    """A chart.

    Args:
        title: above it.
        note: says how to read it.
        spec: of Vega-Lite, without what all have in common.
    """

    title: str
    note: str
    spec: Spec

    @property
    def whole(self) -> Spec:
        """The spec with the look of all charts."""
        return {"width": "container", "config": _LOOK, **self.spec}


def charts_of(section: Section) -> Iterator[Chart]:
    """Yield the charts that the figures of a section allow."""
    if section.designs:
        yield _designs(section, "Latency and energy", "latency_cycles", "energy_nj")
        yield _designs(section, "Area and EDP", "area_um2", "edp")
    hardware = section.hardware
    if hardware is not None and any(found.intensity for found in section.found):
        yield _roofline(section, hardware)
    if hardware is not None and any(found.energy for found in section.found):
        yield _energy_by_layer(section)
        yield _energy_by_memory(section)
    if section.total is None:
        yield from (_convergence(found) for found in section.found if found.curves)
    elif any(found.curves for found in section.found):
        yield _network_convergence(section)


def _designs(section: Section, title: str, x: str, y: str) -> Chart:
    """Return two figures of the accelerators of a co-design."""
    headers = section.design_sizes
    rows = [{**each, "hardware": printable_name(each["hardware"])} for each in section.designs]
    scale = {"type": "log", "nice": False, "padding": 10}
    kinds = {"domain": [OTHER, FRONT, LEAST], "range": ["cross", "circle", "diamond"]}
    spec = {
        "height": _HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True},
        "encoding": {
            "x": _quantitative(x, _FIGURES[x], scale=scale, axis=_SHORT),
            "y": _quantitative(y, _FIGURES[y], scale=scale, axis=_SHORT),
            **{
                channel: _quantitative(size, headers[size], scale=points, legend=_SHORT)
                for channel, size, points in _SIZES
                if size in headers
            },
            "shape": {"field": "kind", "type": "nominal", "scale": kinds, "title": None},
            "tooltip": [{"field": "hardware"}, *map(_tip, (*headers, *_FIGURES))],
        },
    }
    larger = (
        f", the larger the more {printable_name(headers['units'])}" if "units" in headers else ""
    )
    note = (
        f"Every point is an accelerator{larger}. On the front are those that no "
        "other one beats in latency, energy or area without being worse in another."
    )
    return Chart(title, note, spec)


def _roofline(section: Section, hardware: Accelerator) -> Chart:
    rows = [
        {
            "layer": _name(section, found),
            "intensity": found.intensity,
            "throughput": found.macs_per_cycle,
            "bottleneck": found.bottleneck,
            "cycles": found.count * found.cost.latency_cycles,
        }
        for found in section.found
        if found.intensity
    ]
    peak = hardware.peak_macs_per_cycle
    bandwidth = room_of(hardware.MODEL).offchip_bw(hardware)
    ridge = peak / bandwidth if math.isfinite(bandwidth) else math.inf
    ridges = [ridge] if math.isfinite(ridge) else []
    places = [*(found.intensity for found in section.found if found.intensity), *ridges]
    low, high = min(places) / 2, max(places) * 2
    corners = sorted({low, high, *ridges})
    heights = [(x, min(peak, x * bandwidth)) for x in corners]
    roof = [{"intensity": x, "throughput": y} for x, y in heights if math.isfinite(y)]
    x = _quantitative("intensity", "MACs per off-chip word", scale=_log([low, high]))
    y = _quantitative("throughput", "MACs per cycle", scale=_log())
    line = {"type": "line", "color": _INK, "strokeDash": [4, 3], "clip": True}
    points = {"type": "point", "filled": True, "opacity": 0.8}
    spec = {
        "height": _HEIGHT,
        "layer": [
            {"data": {"values": roof}, "mark": line, "encoding": {"x": x, "y": y}},
            {
                "data": {"values": rows},
                "mark": points,
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {"field": "bottleneck", "type": "nominal"},
                    "size": _quantitative(
                        "cycles", "cycles", legend=None, scale={"range": [40, 500]}
                    ),
                    "tooltip": [_LAYER, *(_tip(each) for each in ("intensity", "throughput"))],
                },
            },
        ],
    }
    note = (
        "Every point is a layer, sized by its cycles. The line is the limit of "
        f"{_limit(peak)} MACs and {_limit(bandwidth)} words of main memory per cycle; a point "
        "below it loses time to idle PEs, other memories, networks, or filling and draining."
    )
    return Chart("Roofline", note, spec)


def _limit(rate: float) -> str:
    return f"{rate:,.6g}" if math.isfinite(rate) else "any number of"


def _energy_by_layer(section: Section) -> Chart:
    rows = [
        {"layer": _name(section, found), "memory": memory, "energy": found.count * energy}
        for found in section.found
        for memory, energy in _by_memory(found).items()
    ]
    note = "Of all executions of a layer, by place."
    names = [_name(section, found) for found in section.found]
    return Chart("Energy by layer", note, _bars(rows, "layer", names, "memory", _places(section)))


def _energy_by_memory(section: Section) -> Chart:
    sums: dict[tuple[str, str], float] = {}
    for found in section.found:
        for (place, tensor), energy in found.energy.items():
            key = printable_name(place), tensor
            sums[key] = sums.get(key, 0.0) + found.count * energy
    rows = [{"memory": place, "tensor": tensor, "energy": e} for (place, tensor), e in sums.items()]
    spent = {row["memory"] for row in rows if row["energy"]}
    places = _places(section)
    note = "Of all layers, by the memory that is read or written, and by tensor."
    if free := [each for each in places if each not in spent]:
        note += f" No energy goes to, or is known of: {', '.join(free)}."
    order = [each for each in places if each in spent]
    tensors = list(dict.fromkeys(tensor for _, tensor in sums))
    rows = [row for row in rows if row["memory"] in spent]
    chart = _bars(rows, "memory", order, "tensor", tensors)
    return Chart("Energy by memory and tensor", note, chart)


def _places(section: Section) -> list[str]:
    """Return where energy may go, from the PEs outwards."""
    places = (printable_name(place) for found in section.found for place in found.places)
    return list(dict.fromkeys(places))


def _by_memory(found: Found) -> dict[str, float]:
    sums: dict[str, float] = {}
    for (place, _), energy in found.energy.items():
        memory = printable_name(place)
        sums[memory] = sums.get(memory, 0.0) + energy
    return sums


def _bars(
    rows: list[dict[str, Any]], across: str, order: list[str], colour: str, parts: list[str]
) -> Spec:
    ranked = [{**row, "rank": parts.index(row[colour])} for row in rows]
    return {
        "height": _BAR * len(order),
        "data": {"values": ranked},
        "mark": "bar",
        "encoding": {
            "y": {"field": across, "type": "nominal", "sort": order, "title": None},
            "x": _quantitative("energy", "nJ", axis=_SHORT),
            "color": {"field": colour, "type": "nominal", "sort": parts, "title": None},
            "order": {"field": "rank", "type": "ordinal"},
            "tooltip": [{"field": across}, {"field": colour}, _tip("energy")],
        },
    }


def _network_convergence(section: Section) -> Chart:
    rows: list[dict[str, Any]] = []
    for found in section.found:
        for curve in found.curves:
            operator = found.goal.problem.layer.operator
            rows += [
                {
                    "layer": printable_name(curve.name),
                    "operator": operator,
                    "samples": at,
                    "best": value,
                }
                for at, value in _steps(curve, 1 / found.best)
            ]
    note = (
        "Every line is a layer: the best so far, as a multiple of the final best of the search or "
        "of the proof after it. Samples from similar layers count."
    )
    if missing := sum(not found.curves for found in section.found):
        note += f" Layers from the table of known optima, without a line: {missing}."
    top = max((row["best"] for row in rows), default=1)
    y = _quantitative("best", "times the best", scale=_log([1, max(top, 2)]))
    return Chart("Convergence", note, _lines(rows, y, "operator", "layer"))


def _convergence(found: Found) -> Chart:
    rows = [
        {"mapper": printable_name(curve.name), "search": index, "samples": at, "best": value}
        for index, curve in enumerate(found.curves)
        for at, value in _steps(curve, 1.0)
    ]
    objective = found.goal.objective
    name = f"best {objective.name} ({objective.unit})"
    y = _quantitative("best", name, scale=_log(), axis={"format": "~e"})
    title = f"Convergence: {printable_name(found.name)}, {objective.name}"
    note = "Every line is a search: the best so far."
    if found.over == "seconds":
        note = "The best so far, and the bound: no mapping is below it."
    return Chart(title, note, _lines(rows, y, "mapper", over=found.over))


def _steps(curve: Curve, factor: float) -> list[tuple[float, float]]:
    """Return the corners of a curve up to its end, values times a factor."""
    points = [(at, value * factor) for at, value in curve.improvements]
    if points and points[-1][0] < curve.samples:
        points.append((curve.samples, points[-1][1]))
    return points


def _lines(
    rows: list[dict[str, Any]], y: Spec, colour: str, each: str = "search", over: str = "samples"
) -> Spec:
    return {
        "height": _HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", "opacity": 0.7, "point": True},
        "encoding": {
            "x": _quantitative("samples", over, scale={**_log(), "nice": False}),
            "y": y,
            "color": {"field": colour, "type": "nominal", "title": None},
            "detail": {"field": each},
            "tooltip": [{"field": each}, {"field": colour}, _tip("samples"), _tip("best")],
        },
    }


def _quantitative(field: str, title: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _log(domain: list[float] | None = None) -> Spec:
    return {"type": "log", "nice": False, "domain": domain} if domain else {"type": "log"}


def _tip(field: str) -> Spec:
    return {"field": field, "type": "quantitative", "format": ",.5~g"}


def _name(section: Section, found: Found) -> str:
    """Return the name of a mapping, different ones for different goals."""
    if section.total is not None:
        return printable_name(found.name)
    return f"{printable_name(found.name)}, {found.goal.objective.name}"
