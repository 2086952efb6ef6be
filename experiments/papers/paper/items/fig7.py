"""Fig. 7: how the control parameters move, and when a search has settled on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle, product
from typing import Any, NamedTuple

import numpy as np

from maestro_env.experiments.papers.paper import results
from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    log_spaced,
    searches,
)
from maestro_env.experiments.papers.paper.ledger import Arena, goal
from maestro_env.experiments.papers.paper.reach import (
    REACH_COLUMNS,
    Reach,
    converged,
    mean_factor,
    mostly,
)
from maestro_env.experiments.papers.paper.results import grouped
from maestro_env.experiments.search.cells import Windows
from maestro_env.experiments.shown.statistics import Floats

_LAYER, _OBJECTIVE = "mobilenetv2_l2", "latency"
# Without new starts: a trajectory is that of one team of agents.
_BOTH = ("ppo", "marl:patience=0")
# A window is near where a search ends if mean and spread of the choices differ by at most NEAR; a
# parameter has settled once a share of MOSTLY of the windows is near, as single ones are off by
# chance; it is undecided if its choices end spread as widely as a share of UNDECIDED of uniform
# ones.
_NEAR, _MOSTLY, _UNDECIDED = 0.1, 0.9, 0.8


class Settling(NamedTuple):
    """A parameter in the searches of a mapper.

    Args:
        samples: until it settled.
        ends: the choice each search ended with, 0 for the first and 1 for the last.
    """

    samples: Reach
    ends: tuple[float, ...]

    def alike(self, other: Settling) -> bool | None:
        """Say whether they end near each other; None if only some searches do."""
        near = [abs(own - its) <= _NEAR for own, its in product(self.ends, other.ends)]
        return all(near) if all(near) or not any(near) else None


def _searched(found: FilledFolder) -> Iterator[tuple[str, Arena]]:
    (arena,) = found.of(found.scale.single_agent_samples)
    return ((mapper, arena) for mapper in _BOTH if arena.has(mapper))


def _trajectories(found: FilledFolder) -> Lines:
    """Yield mean and spread of every parameter in some windows, means over seeds."""
    names = [each.name for each in goal(found.runs[0]).problem.space.parameters]
    columns = [f"{kind}_{name}" for kind in ("mean", "spread") for name in names]
    yield ("mapper", "samples", *columns)
    for mapper, arena in _searched(found):
        windows = arena.windows(mapper)
        means = np.mean([np.hstack((each.choices, each.spreads)) for each in windows], axis=0)
        for index in log_spaced(len(means)):
            yield [mapper, windows[0].ends[index], *(f"{each:.3f}" for each in means[index])]


def _settling(found: FilledFolder) -> Lines:
    yield ("mapper", "parameter", *REACH_COLUMNS, "ends")
    for mapper, arena in _searched(found):
        windows, parameters = arena.windows(mapper), arena.goal.problem.space.parameters
        choices = tuple(each.choices for each in parameters)
        samples = np.stack([settled(each, choices) for each in windows])
        ends = np.stack([converged(each.choices) for each in windows])
        for parameter, column, last in zip(parameters, samples.T, ends.T, strict=True):
            reach = Reach(tuple(column.tolist()), arena.samples, int(windows[0].ends[0]))
            yield [mapper, parameter.name, *reach.row(), " ".join(f"{each:.3f}" for each in last)]


def settled(windows: Windows, choices: tuple[int, ...]) -> Floats:
    """Return the evaluations after which each parameter stays as it ends, float64[D].

    They are those up to the end of the first window near where the search ends, the last tenth of
    its windows, from which on most windows are. Infinite for a parameter that ends undecided, and
    for one without a choice.
    """
    near = np.logical_and(
        *(np.abs(each - converged(each)) <= _NEAR for each in (windows.choices, windows.spreads))
    )
    left = np.arange(len(near), 0, -1)[:, np.newaxis]
    share = np.cumsum(near[::-1], axis=0)[::-1] / left
    stays = near & (share >= _MOSTLY)
    samples = windows.ends[np.argmax(stays, axis=0)].astype(np.float64)
    uniform = np.array([np.linspace(0, 1, each).std() for each in choices])
    decided = converged(windows.spreads) < _UNDECIDED * uniform
    return np.where(stays.any(axis=0) & decided, samples, np.inf)


def _view(folder: Folder) -> dict[str, Any]:
    found = {
        mapper: {
            row["parameter"]: Settling(Reach.of(row), tuple(map(float, row["ends"].split())))
            for row in rows
        }
        for (mapper,), rows in grouped(folder.rows("settling.csv"), "mapper").items()
    }
    single, multi = (found.get(name, {}) for name in _BOTH)
    pairs = [(single[name], multi[name]) for name in single if name in multi]
    both = [pair for pair in pairs if not any(each.samples.censored for each in pair)]
    alike = [slow.alike(fast) for slow, fast in both]
    times = [mean_factor([(slow.samples, fast.samples)]) for slow, fast in both if slow.alike(fast)]
    sooner = [each.low > 1 or (False if each.high < 1 else None) for each in times]
    return {
        "found": found,
        "parameters": list(single or multi),
        "both": len(both),
        "alike": len(times),
        "sooner": sooner.count(True),
        "settled": {name: _settled_told(each) for name, each in found.items()},
        "near": _NEAR,
        "mostly": _MOSTLY,
        "undecided": _UNDECIDED,
        # With less than half of all parameters nothing is decided.
        "verdicts": {
            "alike": mostly(alike) if 2 * len(alike) > len(single) else None,
            "sooner": mostly(sooner) if 2 * len(times) > len(single) else None,
        },
    }


def _settled_told(settling: Mapping[str, Settling]) -> str:
    """Say how many parameters settle, and when on the median."""
    samples = [each.samples.median for each in settling.values() if not each.samples.censored]
    if not samples:
        return f"0 of {len(settling)}"
    within = np.median(samples) <= max(each.samples.window for each in settling.values())
    median = f"{'within' if within else 'after'} {np.median(samples):,.0f} samples"
    return f"{len(samples)} of {len(settling)} (median: {median})"


def _draw(folder: Folder) -> None:
    """Draw mean and spread of the choices of every parameter against samples, a panel each."""
    rows = folder.rows("trajectories.csv")
    names = [key.removeprefix("mean_") for key in rows[0] if key.startswith("mean_")]
    size = (12, 2.2 * -(-len(names) // 4))
    figure, panels = results.make_panels(size, len(names), columns=4, sharex=True, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        curves = zip(grouped(rows, "mapper").items(), cycle(results.COLOURS))
        for ((mapper,), found), colour in curves:
            keys = ("samples", f"mean_{name}", f"spread_{name}")
            samples, mean, spread = results.columns_of(found, *keys)
            results.draw_band(axes, (samples, mean, mean - spread, mean + spread), colour, mapper)
        results.finish(axes, name, weight="normal", xscale="log", ylim=(0, 1))
    figure.supxlabel("samples")
    figure.supylabel("choice (0 first, 1 last)")
    results.save_panels(figure, folder.images / "fig7.png", "outside upper center", 2)


ITEM = Item(
    "fig7",
    runs=lambda scale: searches(
        [_LAYER], [_OBJECTIVE], _BOTH, scale.few_seeds, scale.single_agent_samples
    ),
    files={"trajectories.csv": _trajectories, "settling.csv": _settling},
    view=_view,
    draw=_draw,
)
