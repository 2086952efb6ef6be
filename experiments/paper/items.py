"""The tables and figures by name: add one with a file and a line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from experiments.paper.item import Item
from experiments.paper.table2 import Table2
from experiments.paper.table3 import Table3

ITEMS: Mapping[str, Item] = MappingProxyType({item.name: item for item in (Table2(), Table3())})
"""In the order of the page."""
