"""The interface of mappers (``search``, or ``ask`` and ``tell``), and their settings."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from maestro_env.base.checks import plain_integer, plain_number
from maestro_env.base.errors import MaestroEnvError, UnknownNameError
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.mappers.parts.arrays import Floats
from maestro_env.mapspace.space import Points, Space


class SettingError(MaestroEnvError, ValueError):
    """A setting of a mapper that is not allowed."""


def setting(
    default: Any, text: str, least: float = 0, most: float = 10**9, allowed: Iterable[str] = ()
) -> Any:
    """Declare a field of a mapper's config.

    Args:
        default: its type is the field's: an int, a float or a text.
        text: what it means.
        least: smallest number allowed.
        most: largest number allowed.
        allowed: texts allowed; none for any.
    """
    metadata = {"text": text, "least": least, "most": most, "allowed": tuple(allowed)}
    return dataclasses.field(default=default, metadata=metadata)


def is_config(config: object) -> bool:
    """Say whether this is a dataclass whose fields are settings."""
    if isinstance(config, type) or not dataclasses.is_dataclass(config):
        return False
    return all("allowed" in field.metadata for field in dataclasses.fields(config))


def check(config: Any) -> None:
    """Check every field of a config, a dataclass.

    Raises:
        SettingError: a value that the field's declaration does not allow.
        UnknownNameError: a text that is not an allowed one.
    """
    for field in dataclasses.fields(config):
        name, kind, value = field.name, type(field.default), getattr(config, field.name)
        least, most, allowed = (field.metadata[key] for key in ("least", "most", "allowed"))
        if kind is str:
            if allowed and value not in allowed:
                raise UnknownNameError(name, value, allowed)
            continue
        fits = isinstance(value, (int, kind)) and not isinstance(value, bool)
        if not fits or not least <= value <= most:
            what = "integers" if kind is int else "numbers"
            raise SettingError(f"{name} is {value!r}; allowed: {what} from {least} to {most}")


def changed(config: Any, changes: Iterable[str]) -> Any:
    """Return a config with some fields changed by texts such as ``population=50``.

    Raises:
        SettingError, UnknownNameError: no such field, or a value it does not allow.
    """
    parsers = {int: plain_integer, float: plain_number}
    kinds = {field.name: type(field.default) for field in dataclasses.fields(config)}
    values: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if name not in kinds:
            raise UnknownNameError("setting", name, kinds)
        if not equals or name in values:
            raise SettingError(f"setting '{change}': allowed: {name}=VALUE, once")
        parsed = parsers[kinds[name]](text) if kinds[name] in parsers else None
        # ``check`` refuses a text that is no number.
        values[name] = text if parsed is None else parsed
    made = dataclasses.replace(config, **values)
    check(made)
    return made


Config = TypeVar("Config")

STARTS = ("none", "prior")


@dataclass(frozen=True)
class NoConfig:
    """The config of a mapper without parameters."""


@dataclass(frozen=True)
class StartConfig:
    """The setting of mappers that learn from samples which they did not draw."""

    start: str = setting(
        "none", "what they begin with: proposals of the prior, or nothing", allowed=STARTS
    )


class Opening(Protocol):
    """Mappings that a search may begin with, known from other problems."""

    def points(self, problem: AnyProblem, objective: Objective) -> Points:
        """Return some, int32[N, D]."""

    def learnt(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        """Return, in one line, which layers of goals training knew; None for none of them."""

    def warning(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        """Return, in one line, what to know before searches begin with them; None for nothing."""


class Mapper(ABC, Generic[Config]):
    """Searches a map space for the point with the least objective.

    A variant of a mapper is a subclass with another ``DEFAULT``.

    Args:
        config: a frozen dataclass of parameters; None for ``DEFAULT``.

    Raises:
        SettingError, UnknownNameError: a parameter that is not allowed.
    """

    # Its type is Config, but a class variable cannot have a type parameter.
    DEFAULT: ClassVar[Any] = NoConfig()

    def __init__(self, config: Config | None = None) -> None:
        self.config: Config = self.DEFAULT if config is None else config
        check(self.config)
        # The registry gives it to mappers whose settings ask for one.
        self.opening: Opening | None = None

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        """Refuse what the mapper or its settings cannot search. Called before a search.

        Raises:
            MaestroEnvError: names the setting, model or objective and the allowed ones.
        """

    def learnt(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        """Return, in one line, which layers of goals training knew; None for none of them."""
        return self.opening.learnt(goals) if self.opening else None

    def warning(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        """Return, in one line, what to know before searches for these goals; None for nothing."""
        return self.opening.warning(goals) if self.opening else None

    @abstractmethod
    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Spend exactly ``budget`` evaluations, the first ones on the start (``begin``).

        Args:
            evaluator: the only source of costs; it counts samples and keeps the best.
            budget: evaluations to spend, at most those the evaluator has left.
            rng: the only source of randomness.
        """

    def begin(self, evaluator: Evaluator, budget: int) -> tuple[Points, Floats]:
        """Evaluate the start of a search and return it, int32[N, D], with its values, float64[N].

        It is charged as any other points, so N is at most ``budget``.
        """
        points = self.first_points(evaluator, budget)
        return points, evaluator.evaluate(points).values if len(points) else np.empty(0)

    def first_points(self, evaluator: Evaluator, budget: int) -> Points:
        """Return the start of a search, int32[N, D]; nothing once one has begun.

        These are the start of the evaluator, then the opening, if any.
        """
        points = evaluator.start
        if self.opening and not evaluator.used:
            more = self.opening.points(evaluator.problem, evaluator.objective)
            points = np.concatenate([points, more])
        return points[: 0 if evaluator.used else budget]


class AskMapper(Mapper[Config]):
    """A mapper that proposes points and learns from their evaluation."""

    def start(self, space: Space, rng: np.random.Generator) -> None:
        """Reset the mapper for a search of ``space``; a mapper with a state extends this."""
        self._space = space
        self._rng = rng

    @abstractmethod
    def ask(self, n: int) -> Points:
        """Propose between 1 and ``n`` points, int32[m, D]."""

    @abstractmethod
    def learn(self, points: Points, evaluator: Evaluator) -> None:
        """Evaluate the proposed points, int32[m, D], once and learn from them."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        """Learn the start, then propose and learn until the budget is spent."""
        self.start(evaluator.space, rng)
        points = self.first_points(evaluator, budget)
        spent = 0
        while spent < budget:
            if spent or not len(points):
                points = self.ask(budget - spent)
            self.learn(points, evaluator)
            spent += len(points)


class AskTellMapper(AskMapper[Config]):
    """A mapper that proposes points and receives only their values."""

    @abstractmethod
    def tell(self, points: Points, values: Floats) -> None:
        """Learn the values, float64[m], of proposed points; infinite if invalid."""

    def learn(self, points: Points, evaluator: Evaluator) -> None:
        """Evaluate the proposed points and ``tell`` their values."""
        self.tell(points, evaluator.evaluate(points).values)
