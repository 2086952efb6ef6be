"""The corpus of a run: documents of mapped networks, in shards that are a record each."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.checks import look_up
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.store.records import SetupRecord, Show, Versions
from maestro_env.mappers.papers.transformer.corpus import TokenRows, split
from maestro_env.mappers.papers.transformer.tokens import END
from maestro_env.prior.proposals import load_prior
from maestro_env.workloads.finding import models

TRAINING, VALIDATION = "training", "validation"

# Tokens of a shard, about 15 seconds, and more documents than it takes.
_SHARD, _DOCUMENTS = 50_000, 10**6
# Tokens for training for each one for validation.
_TRAINED = 25


@dataclass(frozen=True)
class Source:
    """What decides a corpus.

    Args:
        held: networks of the zoo that are for validation only.
        tokens: for training, without those of empty ends of rows.
    """

    held: tuple[str, ...]
    tokens: int

    def require(self) -> None:
        """Refuse networks that are not in the zoo, and all of them at once.

        Raises:
            UsageError, UnknownNameError: they are.
        """
        for name in self.held:
            look_up("network", name, models())
        if not models().keys() - set(self.held):
            raise UsageError("--held: all networks of the zoo; leave one for training")


@dataclass(frozen=True)
class Part:
    """All that decides a shard: it ends with the document that reaches its tokens."""

    held: tuple[str, ...]
    purpose: str
    number: int
    tokens: int

    def __str__(self) -> str:
        return f"part {self.number} of the corpus for {self.purpose}"


@dataclass(frozen=True)
class Shard(SetupRecord[TokenRows, Part]):
    """A shard as a directory keeps it."""

    NOUN = "parts of the corpus"

    @property
    def path(self) -> Path:
        return self.directory / "corpus" / self.setup.purpose / f"{self.setup.number}.json"

    def compute(self, show: Show) -> dict[str, Any]:
        part, prior = self.setup, load_prior()
        corpus = split(part.held)[part.purpose == VALIDATION]
        documents: list[TokenRows] = []
        written = 0
        for number in count(part.number * _DOCUMENTS):
            documents.append(corpus.rows(number, prior))
            written += int(np.count_nonzero(documents[-1].tokens != END))
            show(min(written / part.tokens, 1), f"{written:,} tokens")
            if written >= part.tokens:
                break
        return {"rows": _text(_joined(documents))}

    def parse(self, entry: dict[str, Any]) -> TokenRows:
        with np.load(io.BytesIO(base64.b64decode(entry["rows"]))) as arrays:
            return TokenRows(arrays["tokens"], arrays["chosen"])


def shards(source: Source, directory: Path, versions: Versions) -> list[Shard]:
    """Return the shards of both corpora, that for training first."""
    found = []
    of_both = {TRAINING: source.tokens, VALIDATION: math.ceil(source.tokens / _TRAINED)}
    for purpose, tokens in of_both.items():
        parts = math.ceil(tokens / _SHARD)
        setups = (
            Part(source.held, purpose, number, math.ceil(tokens / parts)) for number in range(parts)
        )
        found += [Shard(setup, directory=directory, versions=versions) for setup in setups]
    return found


def read_rows(source: Source, directory: Path, purpose: str) -> TokenRows:
    """Return the rows of a corpus.

    Raises:
        RecordError: a shard is missing or damaged.
    """
    found = []
    for shard in shards(source, directory, {}):
        if shard.setup.purpose == purpose:
            rows = shard.read()
            if rows is None:
                raise RecordError(f"{shard.path} is missing; {shard.again} makes it again")
            found.append(rows)
    return _joined(found)


def _joined(parts: Sequence[TokenRows]) -> TokenRows:
    tokens = np.concatenate([each.tokens for each in parts])
    return TokenRows(tokens, np.concatenate([each.chosen for each in parts]))


def _text(rows: TokenRows) -> str:
    """Return rows as text, so that a record holds them and its digest is theirs."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, tokens=rows.tokens, chosen=rows.chosen)
    return base64.b64encode(buffer.getvalue()).decode()
