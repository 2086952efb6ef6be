"""``maestro-env evaluate``: score a mapping file under the cost models that know such mappings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from maestro_env.base.errors import ModelError
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, find_model, models_with
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import AUTO, Problem
from maestro_env.exchange import FORMATS, Format, format_by_ending, unsaid
from maestro_env.experiments.search.mapping_files import (
    MappingConfig,
    is_nest,
    read_mapped,
    read_nest_mapped,
)
from maestro_env.experiments.search.printed_result import taken
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import write_text
from maestro_env.experiments.shell.flags import UsageError, option
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import Table, printable_name
from maestro_env.explanation import nest_status
from maestro_env.hierarchy.evaluation import HierarchyCost
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace


@dataclass(frozen=True)
class Config(MappingConfig):
    """Score one mapping under the cost models that know it; print its loop nest and its figures."""

    model: str = option(AUTO, f"cost model: {', '.join(MODELS)}; auto: all that know such mappings")
    write: str | None = option(None, "also write the mapping to this new file", value="file")
    format: str | None = option(
        None, f"format of --write: {', '.join(FORMATS)} (default: by the ending of its name)"
    )


# Mappings of two levels, and loop nests over any memories, have files.
_READING = {"levels", "relaxed"}
# Numbers from here on are shown with an exponent.
_LARGE = 1e9
_OTHER_FIGURES = {
    "l1_bytes": "L1 of a PE\n(bytes)",
    "l2_bytes": "L2\n(bytes)",
    "macs_per_cycle": "MACs/cycle",
}


def execute(config: Config) -> int:
    """Read, evaluate, print, and return the exit status: 1 of an invalid mapping.

    The model says whether it is valid, the default one of several: others have faults of their own.
    """
    model = None if config.model == AUTO else find_model(config.model)
    readers = [name for name, each in MODELS.items() if _READING & each.abilities]
    if model is not None and config.model not in readers:
        allowed = ", ".join(readers)
        raise UsageError(f"model {config.model} reads no files of mappings; allowed: {allowed}")
    if is_nest(config) if model is None else "levels" not in model.abilities:
        return _evaluate_nest(config)
    found = read_mapped(config)
    if len(found) > 1 and config.write is not None:
        raise UsageError(f"{config.file} has {len(found)} layers; --write takes a file with one")
    return max([_evaluate(config, *each) for each in found])


def _evaluate(config: Config, mapping: Mapping, space: MapSpace) -> int:
    """Do so for the mapping of one layer."""
    _write(config, lambda form: form.write(mapping, Problem(space)))
    problems = list(_problems(space, config.model))
    print_lines(*str(mapping).split("\n"), "")
    headers = [f"{each.name}\n({each.unit})" for each in OBJECTIVES.values()]
    headers += _OTHER_FIGURES.values()
    rows = [(problem.model, *_score(problem, mapping)) for problem in problems]
    layer = space.layer
    title = f"{layer} ({layer.operator} {layer.dimensions})"
    if space.hardware.name:
        title += f" on {space.hardware.name}"
    Table(title, ("model", "status"), headers, rows).print()
    for problem in problems:
        print_lines(f"{problem.model}: {problem.explain(mapping)}")
    _tell_written(config)
    model = DEFAULT_MODEL if config.model == AUTO else config.model
    _, status = Problem(space, model).evaluate_mapping(mapping)
    return 0 if status == STATUSES[OK] else cli.FAILED


def _evaluate_nest(config: Config) -> int:
    """Do the same for a mapping on an accelerator with any memories."""
    mapping, problem = read_nest_mapped(config)

    def written(form: Format) -> str:
        if form.write_nest is None:
            allowed = ", ".join(name for name, each in FORMATS.items() if each.write_nest)
            raise UsageError(f"format {form.name} is for two levels; allowed: {allowed}")
        text = form.write_nest(mapping, problem.layer, problem.hardware)
        if lost := unsaid(text, problem.layer, problem.hardware):
            rules = ", ".join(f"{name} ({which})" for name, which in lost.items())
            print_errors(f"note: {config.write} leaves out rules of loops: {rules}")
        return text

    _write(config, written)
    evaluator = problem.space.evaluator
    cost, status = evaluator.evaluate(mapping)
    told = nest_status(evaluator, mapping)
    print_lines(*problem.show(mapping).split("\n"), "")
    print_lines(printable_name(f"{problem.layer} on {problem.hardware.name or 'hardware'}: {told}"))
    if cost is not None and status == STATUSES[OK]:
        print_lines(*taken(problem, mapping), "")
        _traffic(cost).print()
    _tell_written(config)
    return 0 if status == STATUSES[OK] else cli.FAILED


def _traffic(cost: HierarchyCost) -> Table:
    """Return the words that move between memories."""
    rows = [
        (each.tensor, each.parent, each.child, *map(_shown, (each.parent_words, each.child_words)))
        for each in cost.traffic
    ]
    headers = ("words at\nthe outer", "words at\nthe inner")
    return Table("Words moved", ("tensor", "from or to", "to or from"), headers, rows)


def _write(config: Config, written: Callable[[Format], str]) -> None:
    """Write the mapping to another file, if that is asked for, as the text in some format."""
    if config.write is None:
        if config.format is not None:
            raise UsageError("--format is of a file to write: name it with --write FILE")
        return
    path = Path(config.write)
    form = format_by_ending(config.write, config.format)
    if form.key and config.format is None:
        raise UsageError(f"{path} may be of several formats: give one with --format")
    text = written(form)
    if path.exists():
        raise UsageError(f"{path} exists: give another name")
    write_text(path, text)


def _tell_written(config: Config) -> None:
    if config.write is not None:
        print_lines(f"wrote {config.write}")


def _problems(space: MapSpace, given: str) -> Iterator[Problem]:
    """Yield a problem for the model that is given, or each that this build has."""
    for model in models_with("levels") if given == AUTO else (given,):
        try:
            problem = Problem(space, model)
        except ModelError as error:
            print_errors(f"note: {error}")
            continue
        if warning := problem.stride_warning():
            print_errors(f"warning: {warning}")
        yield problem


def _score(problem: Problem, mapping: Mapping) -> Iterator[str]:
    """Yield the status of a mapping, and its figures if it has any."""
    cost, status = problem.evaluate_mapping(mapping)
    yield status
    if cost is None:
        return
    figures = cost.figures()
    values = [each.of(figures) for each in OBJECTIVES.values()]
    for value in (*values, *(figures.get(name, math.nan) for name in _OTHER_FIGURES)):
        yield _shown(value)


def _shown(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if 1000 <= value < _LARGE else f"{value:.4g}"
