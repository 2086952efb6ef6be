"""Writing a report: the page, its tables, Markdown and CSV.

Templates of pages are files of Jinja, in which a name that is missing is an error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.errors import MissingExtraError
from maestro_env.base.real_units import RealFigures
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.pages.sections import Choice, Found, Section
from maestro_env.experiments.shell.files import RecordError, csv_cell, ensure_directory, write_text
from maestro_env.experiments.shown.statistics import iqm
from maestro_env.experiments.shown.tables import (
    Keyed,
    Table,
    figure,
    in_markdown,
    printable_name,
    shown_gap,
    significant,
)
from maestro_env.models import room_of

if TYPE_CHECKING:
    from jinja2 import Environment


def totals_table(sections: Iterable[Section]) -> Table:
    """Return what networks take: a row for every choice of mappings."""
    choices = [(section, choice) for section in sections for choice in section.choices]
    # Of accelerators with two buffers.
    sized = any(choice.area_um2 is not None for _, choice in choices)
    rows = [
        (
            _text(section.title),
            _text(choice.name),
            *map(_number, (choice.latency_cycles, choice.energy_nj, choice.edp)),
            _text(section.objective or ""),
            _share(section.gap(choice), "-"),
            *(_needs(choice) if sized else ()),
        )
        for section, choice in choices
    ]
    right = (
        *("latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ", "minimised", "above\nbound"),
        *(("L1\nB per PE", "L2\nB", "area\num^2") if sized else ()),
    )
    needs = ", on one accelerator whose buffers are as large as the most demanding layer needs"
    note = (
        f"Layers run one after the other{needs if sized else ''}. No choice of mappings is below "
        "the bound."
    )
    return Table("Totals", ("network", "mappings"), right, rows, note)


def _needs(choice: Choice) -> tuple[Keyed, ...]:
    return _bytes(choice.l1_bytes), _bytes(choice.l2_bytes), _number(choice.area_um2)


def layers_table(section: Section) -> Table | None:
    """Return the mappings of a section: a row each; None without any."""
    if not section.found:
        return None
    total = section.total
    searched = total is None
    shares = () if searched else ("count", "MACs\nshare", "latency\nshare", "energy\nshare")
    right = (
        *shares,
        *("latency\ncycles", "energy\nnJ", "share of\npeak", "above\nbound"),
        *("bottleneck", "found by", "samples"),
    )
    rows = [
        (
            *(_text(found.name), _text(_shape(found))),
            *((_text(found.goal.problem.hardware.name),) if section.hardware is None else ()),
            *((_text(found.goal.objective.name),) if searched else _shares(section, found)),
            *(_number(each) for each in (found.cost.latency_cycles, found.cost.energy_nj)),
            _share(found.cost.utilization, "-"),
            shown_gap(found.gap),
            *(_text(found.bottleneck), _text(found.by)),
            Keyed(f"{found.samples:,}", found.samples),
        )
        for found in section.found
    ]
    several = () if section.hardware is not None else ("hardware",)
    left = ("layer", "shape", *several, *(("minimised",) if searched else ()))
    note = "A row is one mapping, with its latency and energy of one execution."
    if total is not None:
        note += f" Mappings are those called '{total.name}', and shares are of all executions."
    return Table("Best mappings" if searched else "Layers", left, right, rows, note)


def real_table(section: Section) -> Table | None:
    """Return a section in real units, as far as they are known: a row each; None without any."""
    rows = [(_text(each.name), _text("the network"), each.real) for each in section.choices]
    for found in section.found:
        problem, objective = found.goal.problem, found.goal.objective.name
        what = [] if section.hardware is not None else [problem.hardware.name]
        what += [objective] if section.total is None else ["one execution"]
        rows.append((_text(found.name), _text(", ".join(what)), found.real))
    figures = [_real(real) for _, _, real in rows]
    headers = dict.fromkeys(header for each in figures for header in each)
    cells = [
        (name, what, *(figure(each.get(header)) for header in headers))
        for (name, what, _), each in zip(rows, figures, strict=True)
    ]
    note = ""
    if any(header.endswith("GB/s") for header in headers):
        note = "GB/s are what a memory sends and takes on average, all of its instances together."
    return Table("Real units", ("mapping", "of"), tuple(headers), cells, note) if headers else None


def _real(real: RealFigures) -> dict[str, float]:
    """Return what is known of real units, by header."""
    figures = {
        "latency\nms": real.latency_ms,
        "inferences\nper s": real.inferences_per_second,
        "energy\nmJ": real.energy_mj,
        "TOPS/W": real.tops_per_watt,
        **{f"{name}\nGB/s": rate for name, rate in (real.memory_gb_per_s or {}).items()},
    }
    return {header: value for header, value in figures.items() if value is not None}


def mappers_table(section: Section) -> Table | None:
    """Return what every mapper found for every goal; None where no searches are told."""
    if section.total is not None or not any(found.curves for found in section.found):
        return None
    rows = []
    for found in section.found:
        by_mapper: dict[str, list[float]] = {}
        for curve in found.curves:
            last = curve.improvements[-1][1] if curve.improvements else np.inf
            by_mapper.setdefault(curve.name, []).append(last)
        for mapper, bests in by_mapper.items():
            mean = float(iqm(np.array(bests)))
            gap = mean / found.bound - 1 if found.bound and np.isfinite(mean) else None
            names = (found.name, found.goal.objective.name, mapper)
            rows.append(
                (
                    *map(_text, names),
                    Keyed(str(len(bests)), len(bests)),
                    *(_number(each) for each in (min(bests), mean)),
                    _share(gap, "-"),
                )
            )
    right = ("seeds", "best", "mean best", "mean\nabove bound")
    note = "Means are interquartile means over seeds; a dash: no valid mapping found."
    return Table("Mappers", ("layer", "minimised", "mapper"), right, rows, note)


def _shares(section: Section, found: Found) -> tuple[Keyed, ...]:
    total, macs = section.total, section.macs
    assert total is not None
    assert macs
    shares = (
        found.goal.problem.layer.macs / macs,
        found.cost.latency_cycles / total.latency_cycles,
        found.cost.energy_nj / total.energy_nj,
    )
    count = Keyed(str(found.count), found.count)
    return (count, *(_share(found.count * each, "-") for each in shares))


def _shape(found: Found) -> str:
    layer = found.goal.problem.layer
    return f"{layer.operator} {layer.dimensions}"


def _text(text: str) -> Keyed:
    return Keyed(printable_name(text), printable_name(text))


def _number(value: float | None) -> Keyed:
    if value is None:
        return Keyed("-", None)
    text = f"{value:,.0f}" if 1e3 <= value < 1e9 else significant(value, 5)
    return Keyed(text, value if np.isfinite(value) else None)


def _bytes(value: float | None) -> Keyed:
    return Keyed("-" if value is None else f"{value:,.0f}", value)


def _share(value: float | None, none: str) -> Keyed:
    return Keyed(none, None) if value is None else Keyed(f"{value:.1%}", value)


def templates(folder: Path, autoescape: bool = False) -> Environment:
    """Return the templates of a folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,
    )


_FOLDER = Path(__file__).parent
_REAL = ("latency_ms", "inferences_per_second", "energy_mj", "tops_per_watt")
_COLUMNS = (
    *("section", "hardware", "layer", "operator", "dimensions", "count", "macs", "objective"),
    *("value", "bound", "gap", "found_by", "samples", "latency_cycles", "energy_nj"),
    *("utilization", "bottleneck", "macs_per_offchip_word"),
)


def write_report(sections: Sequence[Section], path: Path) -> None:
    """Write a report of the kind that a file's name ends with: .html, .md or .csv.

    The same sections make the same bytes.

    Raises:
        RecordError: another ending, or the file cannot be written.
        MissingExtraError: the page needs the extra ``report``.
    """
    if path.suffix.lower() not in KINDS:
        raise RecordError(f"{path}: a report's name ends with one of {', '.join(KINDS)}")
    text = KINDS[path.suffix.lower()](sections)
    ensure_directory(path.parent)
    write_text(path, text)


def _page(sections: Sequence[Section]) -> str:
    library = _library()
    charts = [list(charts_of(each)) for each in sections]
    environment = templates(_FOLDER, autoescape=True)
    return environment.get_template("page.html.j2").render(
        **_told(sections), charts=charts, library=library
    )


@cache
def _library() -> str:
    """Return the plotting library, as JavaScript that needs nothing else."""
    try:
        import vl_convert
    except ModuleNotFoundError as error:
        raise MissingExtraError("a report's page", "vl-convert-python", "report") from error
    code: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed")
    # The end of a script ends it wherever it stands.
    return code.replace("</script", r"<\/script")


def _markdown(sections: Sequence[Section]) -> str:
    template = templates(_FOLDER).get_template("page.md.j2")
    text = template.render(**_told(sections), in_markdown=in_markdown)
    return text.strip() + "\n"


def _told(sections: Sequence[Section]) -> dict[str, Any]:
    """Return what both templates tell."""
    networks = [each for each in sections if each.total is not None]
    return {
        "sections": sections,
        "totals": totals_table(networks) if networks else None,
        "layers": [layers_table(each) for each in sections],
        "real": [real_table(each) for each in sections],
        "mappers": [mappers_table(each) for each in sections],
        "hardware": [each.hardware and _figures(each.hardware) for each in sections],
        "printable_name": printable_name,
    }


def _figures(accelerator: Accelerator) -> dict[str, Any]:
    return room_of(accelerator.MODEL).figures(accelerator)


def _csv(sections: Sequence[Section]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    rows = [(section, found) for section in sections for found in section.found]
    places = (place for _, found in rows for place in found.places)
    energies = list(dict.fromkeys(map(_energy_column, places)))
    writer.writerow(map(csv_cell, (*_COLUMNS, *energies, *_REAL, "vector")))
    writer.writerows(_row(section, found, energies) for section, found in rows)
    return buffer.getvalue()


def _energy_column(place: str) -> str:
    return f"{place.lower().replace('-', '')}_energy_nj"


def _row(section: Section, found: Found, energies: Sequence[str]) -> Iterator[object]:
    layer, hardware, cost = found.goal.problem.layer, found.goal.problem.hardware, found.cost
    # What the accelerator does not have stays empty; what it has may take none.
    spent = dict.fromkeys(map(_energy_column, found.places if found.energy else ()), 0.0)
    for (place, _), part in found.energy.items():
        spent[_energy_column(place)] += part
    values = (
        *(section.title, hardware.name, found.name, layer.operator, layer.dimensions),
        *(found.count, layer.macs, found.goal.objective.name, found.value, found.bound, found.gap),
        *(found.by, found.samples, cost.latency_cycles, cost.energy_nj, cost.utilization),
        *(found.bottleneck, found.intensity, *map(spent.get, energies)),
        *(getattr(found.real, name) for name in _REAL),
        " ".join(map(str, found.vector)),
    )
    return map(csv_cell, values)


KINDS: Mapping[str, Callable[[Sequence[Section]], str]] = {
    ".html": _page,
    ".md": _markdown,
    ".csv": _csv,
}
"""The kinds of reports by the end of the file's name."""
