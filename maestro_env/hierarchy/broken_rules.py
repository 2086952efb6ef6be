"""Whether the elements of an accelerator can run the loops of a mapping (H2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from maestro_env.accelerators.elements import FanoutElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import INDEXING, LoopRules
from maestro_env.hierarchy.shape import Cut, Shape, cuts_of


def broken_rule(
    hierarchy: Hierarchy, shape: Shape, mapping: Sequence[Sequence[tuple[str, int]]]
) -> str | None:
    """Return the first rule that a mapping breaks, with its element; None if it breaks none."""
    if not any(hierarchy.rules):
        return None
    # A loop that cuts nothing is none.
    nest = [[cut for cut in loops if cut.chunks > 1] for loops in cuts_of(shape, mapping)]
    temporal = [
        [] if isinstance(element, FanoutElement) else loops
        for element, loops in zip(hierarchy.elements, nest, strict=True)
    ]
    for place, (rules, name) in enumerate(zip(hierarchy.rules, hierarchy.names, strict=True)):
        box = shape.sizes | {cut.dim: cut.tile for loops in nest[:place] for cut in loops}
        outside = [cut for loops in temporal[:place] for cut in loops]
        broken = (*_loops(rules, nest[place]), *_tiles(rules, box, shape), *_again(rules, outside))
        if broken:
            return f"{name}: {broken[0]}"
    return None


def _loops(rules: LoopRules, loops: Sequence[Cut]) -> Iterator[str]:
    """Yield what is wrong with the loops of an element."""
    for cut in loops:
        if not rules.allows(cut.dim):
            allowed = ", ".join(rules.dims or ()) or "none"
            yield f"a loop of {cut.dim}; allowed: loops of {allowed}"
        if cut.chunks > rules.units.get(cut.dim, cut.chunks):
            yield f"{cut.chunks} units of {cut.dim}; allowed: at most {rules.units[cut.dim]}"
    order = [cut.dim for cut in loops]
    for name, rule, found in (
        ("outermost", rules.outermost, order),
        ("innermost", rules.innermost, order[::-1]),
    ):
        wanted = [dim for dim in rule if dim in found]
        if found[: len(wanted)] != wanted:
            yield f"loops of {', '.join(order)}; allowed: {name} {', '.join(rule)}"


def _tiles(rules: LoopRules, box: dict[str, int], shape: Shape) -> Iterator[str]:
    """Yield what is wrong with the tile that an element gets."""
    for dim, most in rules.tiles.items():
        if box[dim] > most:
            yield f"a tile of {box[dim]} of {dim}; allowed: at most {most}"
    for dim in rules.whole:
        if box[dim] < shape.sizes[dim]:
            yield f"a tile of {box[dim]} of {dim}; allowed: all {shape.sizes[dim]} of it"


def _again(rules: LoopRules, outside: Iterable[Cut]) -> Iterator[str]:
    """Yield the tensors that should stay, but whose tiles come again."""
    loops = [cut.dim for cut in outside]
    for tensor in rules.stays:
        over: str | None = None
        for dim in loops:
            if dim not in INDEXING[tensor]:
                over = dim
            elif over is not None:
                yield (
                    f"{tensor} comes again, as the loop of {dim} is inside of that of {over}; "
                    "allowed: each tile once"
                )
                break
