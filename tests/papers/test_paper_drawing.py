"""Pictures of the wing, as test_drawing.py has those of the core."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any
from unittest.mock import patch

import pytest
from gate import few
from hypothesis import strategies as st
from test_drawing import ANY, NAMES, Draw, drawn_of, several

from maestro_env.experiments.papers.paper import results
from maestro_env.experiments.papers.paper.items import fig5, fig6, fig7
from maestro_env.experiments.papers.sparse.curves import draw_curves


def arms(draw: Draw) -> Any:
    curve = [(8, draw(st.sampled_from([0, 7])), draw(ANY))] * draw(st.integers(1, 3))
    names = several(draw, NAMES)
    return draw_curves({name: {arm: [curve] for arm in names} for name in names[:3]}, "return")


def paper(draw: Draw) -> Any:
    """One of the paper's figures, from rows as files have them."""
    given = {"layer": "l", "objective": "o", "samples": "9", "warm_up": "7", "measure": ""}
    rows = [
        {**given, "mapper": mapper, "multi": mapper, "agents": str(agents), "grouping": ""}
        | {name: str(draw(ANY)) for name in ("mean", "low", "high", "mean_x", "spread_x", "share")}
        for agents, mapper in enumerate(draw(st.sampled_from([["ga"], ["a:b=c_d", "marl"]])), 1)
    ]
    drawn: list[Any] = []
    folder: Any = Made(rows=lambda *_, **__: rows, images=Path())
    with patch.object(results, "save", lambda figure, *_, **__: drawn.append(figure)):
        draw(st.sampled_from([fig5._draw, fig7._draw, lambda _: fig6._draw_shares(rows, Path())]))(
            folder
        )
    return drawn[0]


@drawn_of(1, few([paper, arms]))
def test_whatever_was_measured_is_drawn(drawing: Any, data: Any) -> None:
    drawing(data.draw).draw_without_rendering()


@pytest.mark.slow
@drawn_of(200, [arms, paper])
def test_two_hundred_measurements_are_drawn(drawing: Any, data: Any) -> None:
    drawing(data.draw).draw_without_rendering()
