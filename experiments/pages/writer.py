"""Writing a report: the page, Markdown and CSV.

Templates of pages: files of Jinja in which a name that is missing is an error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.pages.sections import Found, Section
from maestro_env.experiments.pages.tables import (
    layers_table,
    mappers_table,
    real_table,
    totals_table,
)
from maestro_env.experiments.shell.files import RecordError, csv_cell, ensure_directory, write_text
from maestro_env.experiments.shown.tables import in_markdown, printable_name
from maestro_env.models import room_of

if TYPE_CHECKING:
    from jinja2 import Environment


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
