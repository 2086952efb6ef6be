"""``maestro-env sparse transformer``: what it makes, trains, measures, prints and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import sparse as main

pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.experiments.papers.sparse import corpus
from maestro_env.experiments.papers.sparse import pretraining as measuring
from maestro_env.experiments.papers.sparse.corpus import Shard, Source, read_rows, shards
from maestro_env.experiments.papers.sparse.pretraining import (
    WINDOW,
    WORST,
    Quality,
    Size,
    Trained,
    _learn,
    quality,
    sought,
)
from maestro_env.experiments.papers.sparse.transformer import (
    Difference,
    answer,
    differences,
    print_tables,
)
from maestro_env.experiments.shown.statistics import Estimate
from maestro_env.mappers.papers.transformer.corpus import TokenRows, split
from maestro_env.mappers.papers.transformer.model import TransformerError
from maestro_env.mappers.papers.transformer.proposing import read_gpt
from maestro_env.mappers.papers.transformer.tokens import END
from maestro_env.mappers.papers.transformer.training import Arm, Training, mean_loss
from maestro_env.prior.proposals import load_prior
from maestro_env.workloads.finding import models

TINY = ("transformer", "--held=bert_base", "--tokens=100", "--steps=200", "--seeds=1")
TINY += ("--blocks=1", "--width=8", "--batch=1", "--rate=0.001")


@pytest.fixture
def one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "LAYERS", 1)
    monkeypatch.setattr(measuring, "GOALS", (("edge", "edp"),))


@pytest.mark.slow
@pytest.mark.usefixtures("one_problem", "one_torch_thread")
def test_from_nothing_to_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main([*TINY, "--arms=static,mst", f"--out={out}"]) == 0
    shown = capsys.readouterr().out
    held = read_rows(Source(("bert_base",), 100), out, "validation")
    ways = Size(1, 8, 1).arms(200)
    for name, density in (("static", 0.2), ("mst", 1.0)):
        path = out / "trainings" / name / "200-0.001" / "0.json"
        trained = json.loads(path.read_text())["trained"]
        kept = read_gpt(path.with_suffix(".npz"))
        assert kept.operations() == trained["flops"] == trained["curve"][-1][1]
        assert trained["flops"] == pytest.approx(ways[name].planned(), rel=0.05)
        for matrix, mask in kept.masks.items():
            assert not kept.weights[matrix][~mask].any()
        there = np.concatenate([mask.ravel() for mask in kept.masks.values()])
        assert there.mean() == pytest.approx(density, abs=0.01)
        assert mean_loss(kept.model(), held) == trained["loss"]
        window = {"static": None, "mst": WINDOW}[name]
        assert mean_loss(kept.model(), held, window) == trained["loss_as_trained"]
        rows = [line.split() for line in shown.splitlines() if line.startswith(f"{name} ")]
        assert rows[0][1:5] == ["1", "0.0256", "-", f"{trained['loss']:.4f}"]
        assert rows[1][1] == f"{trained['quality']['samples']:.0f}"
    widths = {line: len(line) for line in shown.partition("plot: ")[0].splitlines()}
    assert {line for line, width in widths.items() if width > 80} == set()
    assert all(f"\n{control} " in shown for control in ("prior", "random"))
    # What is trained stays, and other files in its place are noticed.
    file, other = (out / f"trainings/{arm}/200-0.001/0.npz" for arm in ("static", "mst"))
    file.write_bytes(other.read_bytes())
    assert main([*TINY, "--arms=static,mst", f"--out={out}", "--resume"]) == 2
    told = capsys.readouterr().err
    assert f"{file} beside it is another file; delete it, and --resume runs it again" in told


@pytest.mark.usefixtures("one_problem")
def test_nothing_is_trained_without_its_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Shard, "compute", lambda *_: 1 / 0)
    out = tmp_path / "out"
    assert main([*TINY, f"--out={out}"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in told] == [
        f" part 0 of the corpus for {purpose}" for purpose in ("training", "validation")
    ]
    assert not (out / "trainings").exists()


def test_shards_are_documents_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_SHARD", 60)
    source = Source(("gpt2",), 120)
    made = shards(source, tmp_path, {})
    assert [(each.setup.purpose, each.setup.number) for each in made] == [
        *(("training", 0), ("training", 1)),
        ("validation", 0),
    ]
    assert [each.run(lambda *_: None) for each in made] == [None] * 3
    training, validation = split(source.held)
    documents = [(training, 10**6), (validation, 0)]
    for shard, (whole, number) in zip(made[1:], documents, strict=True):
        rows, first = shard.read(), whole.rows(number, load_prior())
        assert rows is not None
        assert (rows.tokens != END).sum() >= shard.setup.tokens
        np.testing.assert_array_equal(rows.tokens[: len(first.tokens)], first.tokens)
        np.testing.assert_array_equal(rows.chosen[: len(first.chosen)], first.chosen)
    both = [each.read() for each in made[:2]]
    joined = np.concatenate([each.tokens for each in both if each is not None])
    np.testing.assert_array_equal(read_rows(source, tmp_path, "training").tokens, joined)
    made[1].path.unlink()
    with pytest.raises(ValueError, match=r"1\.json is missing; --resume makes it again"):
        read_rows(source, tmp_path, "training")


def test_every_network_has_problems_with_an_optimum() -> None:
    for network in models():
        found = list(sought([network]))
        assert len(found) == 4 * 4
        assert all(optimum.gap < 0.05 for *_, optimum in found)


def test_ratios_are_those_of_the_best_so_far(one_problem: None) -> None:
    ((problem, objective, optimum),) = sought(["bert_base"])
    points = Masks(problem).sample(12, np.random.default_rng(0))
    values, _ = problem.score(points, objective)

    def spend(evaluator: Evaluator, rng: np.random.Generator) -> None:
        evaluator.evaluate(points)
        evaluator.evaluate(optimum.point[None])

    found = quality(["bert_base"], 0, spend, lambda *_: None)
    wanted = [values[0] / optimum.value, values[:10].min() / optimum.value, 1]
    assert found.ratios[0] == pytest.approx(np.minimum(wanted, WORST))
    assert found.samples == 13

    def spend_nothing(evaluator: Evaluator, rng: np.random.Generator) -> None:
        evaluator.evaluate(points[:0])

    nothing = quality(["bert_base"], 0, spend_nothing, lambda *_: None)
    assert nothing == Quality([[WORST] * 3], 0)


def trained(*figures: tuple[float, float]) -> list[Trained]:
    """Trainings of a loss and of ratios of two problems, one four times the other."""
    return [
        Trained(10, loss, loss, Quality([[r] * 3, [4 * r] * 3], 100), [], 60.0, "")
        for loss, r in figures
    ]


def test_differences_against_closed_forms(capsys: pytest.CaptureFixture[str]) -> None:
    mst, dense = trained((1.3, 3.0), (1.1, 3.0)), trained((1.0, 2.0), (0.9, 2.0))
    perplexity, *best = differences(mst, dense)
    # Each mean of two is either of them with a chance of 1/4: so are all ends of the interval.
    of_means = np.exp([1.3, 1.1]).sum() / np.exp([1.0, 0.9]).sum()
    wanted = 100 * (np.array([of_means, np.exp(0.1), np.exp(0.4)]) - 1)
    assert perplexity.excess == pytest.approx(tuple(wanted))
    for each in best:
        assert each.excess == pytest.approx((50, 50, 50))
    assert (
        answer([perplexity, *best]) == "no, worse: perplexity, best of 1, best of 10, best of 100"
    )
    assert answer(list(differences(dense, mst))) == "yes"
    assert answer(list(differences(dense, trained((0.95, 3.0), (0.95, 3.0))))) == "not decided"
    assert {each.verdict for each in differences(mst[:1], dense)} == {"not decided"}
    costly = [replace(each, flops=40) for each in dense]
    print_tables(Size(1, 8, 1).arms(200), {"dense": costly, "mst": mst}, {})
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["mst", "2", "0.0256", "25.0", "1.2000"] in [row[:5] for row in rows]
    # The geometric mean of 3 and 12 is 6.
    assert ["mst", "100", *3 * ["500", "(500", "to", "500)"]] in rows
    assert shown.splitlines()[-1].startswith("mst, without compromising performance of dense: no")


@pytest.mark.parametrize(
    ("low", "high", "verdict", "answered"),
    [
        (-2, -1, "better", "yes"),
        (-1, 2.9, "as good", "yes"),
        (1, 2.9, "as good", "yes"),
        (2.9, 3.1, "not decided", "not decided"),
        (-9, 3.1, "not decided", "not decided"),
        (np.nan, np.nan, "not decided", "not decided"),
        (3.1, 9, "worse", "no, worse: it"),
    ],
)
def test_as_good_is_at_most_three_per_cent_worse(
    low: float, high: float, verdict: str, answered: str
) -> None:
    found = Difference("it", Estimate(*map(np.array, (1.0, low, high))))
    better = Difference("other", Estimate(*np.array([-2.0, -3.0, -1.0])))
    assert (found.verdict, answer([better, found])) == (verdict, answered)


def test_a_training_that_diverges_ends() -> None:
    shape = Size(1, 8, 1).arms(200)["dense"].shape
    rows = TokenRows(np.ones((1, 129), dtype=np.int16), np.ones((1, 129), dtype=bool))
    training = Training(Arm(shape, 200, 1), rows, seed=0)
    training.model.gain.data.fill_(np.nan)
    with pytest.raises(TransformerError, match="the loss is nan in step 1; lower the rate"):
        _learn(training, lambda *_: None)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--arms=dense,set"], "unknown arm 'set': did you mean mst? allowed: dense, early, "),
        (["--held=lenet"], "unknown network 'lenet': "),
        ([f"--held={','.join(models())}"], "--held: all networks of the zoo; leave one"),
        (["--steps=250"], "steps is 250; allowed: a multiple of the interval, 100"),
        (["--width=10"], "width is 10; allowed: a multiple of the 4 heads"),
        (["--tokens=0"], "'0'; allowed: integers from 1"),
        (["--rate=2"], "'2'; allowed: numbers from 0 to 1"),
        (["--resume"], "--resume needs --out"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, [*TINY, *flags], message)
