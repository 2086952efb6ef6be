"""Table III: MARL against the other mappers, as the paper has it and as it should be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from experiments.cells import Finished
from experiments.csv_files import write_csv
from experiments.paper import table3_page, table3_rows
from experiments.paper.arena import make_arenas
from experiments.paper.counts import CONTROLS, MARL, PAPERS
from experiments.paper.item import Item, Places, Run, Scale, Section

_CLUSTERED = "marl_clustered"
_COSTLY = ("bo", "marl_mlp")
MAPPERS = (
    *PAPERS,
    *CONTROLS,
    "ppo_box",
    "ppo_tuned",
    "marl_clustered:agents=6:grouping=random",
    "marl_mlp",
    MARL,
    _CLUSTERED,
)
"""In the order of the tables."""
_LONG = "ga"
_MAESTRO_HARDWARE = "paper"


class Table3(Item):
    """The comparison of all mappers on the reporting layers."""

    name = "table3"
    title = "Table III: MARL against the other mappers"

    def runs(self, scale: Scale) -> Iterator[Run]:
        for hardware, layer, objective in product(scale.hardware, scale.layers, scale.objectives):
            for mapper in MAPPERS:
                for seed in range(scale.few_seeds if mapper in _COSTLY else scale.seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, hardware)
            yield Run(layer, objective, _LONG, 0, scale.long_samples, hardware)
        for layer, objective in product(scale.layers, scale.objectives):
            place = {"hardware": _MAESTRO_HARDWARE, "model": "maestro"}
            for mapper in MAPPERS:
                for seed in range(0 if mapper in _COSTLY else scale.few_seeds):
                    yield Run(layer, objective, mapper, seed, scale.samples, **place)
            yield Run(layer, objective, _LONG, 0, scale.long_samples, **place)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples, self.runs(scale))
        cells = dict.fromkeys(scale.hardware, len(scale.layers) * len(scale.objectives))
        for name, header, rows in table3_rows.tables(arenas, MAPPERS, scale.checkpoints, cells):
            write_csv(places.results / name, header, rows)

    def section(self, places: Places) -> Section:
        return table3_page.section(places.results)
