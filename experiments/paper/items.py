"""The tables and figures by name: add one with a file and a line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from experiments.paper.decomposition import Decomposition
from experiments.paper.fig4 import Fig4
from experiments.paper.fig5 import Fig5
from experiments.paper.fig6 import Fig6
from experiments.paper.fig7 import Fig7
from experiments.paper.item import Item
from experiments.paper.overhead import Overhead
from experiments.paper.table2 import Table2
from experiments.paper.table3 import Table3

_ITEMS = (Table2(), Table3(), Fig4(), Fig5(), Decomposition(), Fig6(), Fig7(), Overhead())
ITEMS: Mapping[str, Item] = MappingProxyType({item.name: item for item in _ITEMS})
"""In the order of the page."""
