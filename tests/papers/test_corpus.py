"""Problems and mappings as tokens, and the corpus of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.errors import UnknownNameError
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.transformer import corpus, tokens
from maestro_env.mappers.papers.transformer.corpus import Corpus, TokenRows, split
from maestro_env.mappers.papers.transformer.tokens import SentenceError, Step, decode, encode, write
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.prior.proposals import Proposals, load_prior
from maestro_env.workloads.finding import find_layer, models, parse_layer
from maestro_env.workloads.layer import DIMENSIONS, Layer

SEEDS = st.integers(0, 2**32)
HEADER = 6


@st.composite
def spaces(draw: st.DrawFn) -> MapSpace:
    operator = draw(st.sampled_from(sorted(DIMENSIONS)))
    batch = "" if operator == "GEMM" else draw(st.sampled_from(["", "N"]))
    names = (*DIMENSIONS[operator], *batch)
    extents = {}
    for name in names:
        windows = name in "RS" and operator != "GEMM"
        extents[name] = draw(st.integers(1, 7) if windows else st.integers(1, 512))
    for axis, window in zip("YX", "RS", strict=True):
        if window in extents:
            extents[axis] = max(extents[axis], extents[window])
    layer = Layer(operator, extents)
    hardware = Hardware(draw(st.integers(1, 4096)))
    return MapSpace(layer, hardware, draw(st.sampled_from(sorted(SCHEMAS))))


def tiles_of(space: MapSpace, point: Points) -> list[dict[str, int]]:
    return [{loop.dim: loop.size for loop in each.loops} for each in space.decode(point).levels]


def passes(around: dict[str, int], tiles: dict[str, int]) -> dict[str, int]:
    return {dim: -(-size // tiles[dim]) for dim, size in around.items()}


@given(spaces(), SEEDS)
def test_a_mapping_is_read_as_the_nearest_that_can_be_written(space: MapSpace, seed: int) -> None:
    point = space.sample(1, np.random.default_rng(seed))[0]
    sentence = encode(space, point)
    read = decode(space, sentence)
    assert encode(space, read) == sentence
    for name in ("l2_parallel", "l1_parallel"):
        assert read[space.columns[name]] == point[space.columns[name]]
    if "cluster_size" in space.columns:
        sizes = (each[space.columns["cluster_size"]] + 1 for each in (point, read))
        clusters = [space.hardware.num_pes // int(size) for size in sizes]
        assert clusters[0] == clusters[1]
    wanted, found = tiles_of(space, point), tiles_of(space, read)
    assert passes(space.extents, wanted[0]) == passes(space.extents, found[0])
    assert all(found[level][dim] <= size for level in (0, 1) for dim, size in wanted[level].items())


@given(spaces(), SEEDS)
def test_what_is_not_written_of_an_order_costs_nothing(space: MapSpace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    read = decode(space, encode(space, space.sample(1, rng)[0]))
    mixed = np.repeat(read[None], 4, axis=0)
    for name in ("l2_order", "l1_order"):
        mixed[:, space.columns[name]] = space.sample(4, rng)[:, space.columns[name]]
    problem = Problem(space)
    for each in mixed:
        again = decode(space, encode(space, each))
        costs, _ = problem.score(np.stack([each, again]), find_objective("edp"))
        np.testing.assert_allclose(costs[0], costs[1], rtol=1e-12)
        assert tiles_of(space, each) == tiles_of(space, again)


@given(spaces(), SEEDS)
def test_a_mapping_has_one_sentence(space: MapSpace, seed: int) -> None:
    rng, sentence = np.random.default_rng(seed), list[int]()

    def any_of(step: Step) -> int:
        assert len(step.options) > 1
        sentence.append(int(rng.choice(list(step.options))))
        return sentence[-1]

    point = write(space, any_of)
    assert encode(space, point) == sentence
    np.testing.assert_array_equal(decode(space, sentence), point)


@pytest.mark.parametrize("extent", [1, 2, 7, 36, 400, 4096])
def test_a_tile_is_read_as_the_smallest_of_as_many_passes(extent: int) -> None:
    space = MapSpace(Layer("GEMM", {"M": extent, "N": 1, "K": 1}), Hardware(1))
    for size in {*range(1, extent + 1, 1 + extent // 400), extent}:
        values = {parameter.name: parameter.values[0] for parameter in space.parameters}
        read = decode(space, encode(space, space.from_values(values | {"l2_tile_M": size})))
        fewest = min(
            each for each in range(1, size + 1) if -(-extent // each) == -(-extent // size)
        )
        assert tiles_of(space, read)[0]["M"] == fewest


def test_sentences_of_a_known_problem() -> None:
    def words(sentence: list[int]) -> list[object]:
        return [tokens._WORDS[token] for token in sentence]

    edge = PRESETS["edge"]
    figures = [("size", number) for number in (176, 512, 106_496, 64, 16)]
    assert words(tokens.of_machine(edge, find_objective("edp"))) == ["edp", *figures]
    layer = parse_layer("conv:K=16,C=1000,Y=30,X=30,R=3,S=3,stride=2")
    numbers = [("size", number) for number in (16, 1024, 14, 14, 3, 3, 2, 2)]
    assert words(tokens.of_layer(layer)) == ["CONV", *numbers]
    space = MapSpace(Layer("GEMM", {"M": 1, "N": 100, "K": 10}), Hardware(8))
    tiles = dict(zip(["l2_tile_M", "l2_tile_N", "l2_tile_K"], [1, 40, 10], strict=True))
    tiles |= dict(zip(["l1_tile_M", "l1_tile_N", "l1_tile_K"], [1, 1, 2], strict=True))
    loops = {"l2_order": 0, "l2_parallel": "N", "l1_order": 3, "l1_parallel": "K"}
    point = space.from_values({"cluster_size": 4, **loops, **tiles})
    # The GEMM's N is K of the canonical nest, its K is C. Three chunks of 40 are read as of 34.
    tiles_of_l2, tiles_of_l1 = [("passes", 3), ("passes", 1)], [("size", 1), ("size", 2)]
    written = ["K", "C", ("passes", 2), *tiles_of_l2, *tiles_of_l1, "C"]
    assert words(encode(space, point)) == written


def test_tokens_that_mean_nothing_are_refused() -> None:
    space = MapSpace(find_layer("mobilenetv2_l2"), PRESETS["edge"])
    sentence = encode(space, np.zeros(len(space.sizes), dtype=np.int32))
    for wrong in (sentence[:-1], [*sentence[:-1], tokens.END]):
        with pytest.raises(SentenceError, match="token 0 stands for l2_order; allowed: "):
            decode(space, wrong)
    with pytest.raises(SentenceError, match="1 tokens too many"):
        decode(space, [*sentence, tokens.END])
    with pytest.raises(UnknownNameError, match="objective"):
        tokens.of_machine(PRESETS["edge"], find_objective("power"))


@pytest.fixture
def random_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the prior's place, which is slower."""

    def sampled(problems: list[Problem], *_: object) -> list[Points]:
        return [each.space.sample(2, np.random.default_rng(0)) for each in problems]

    monkeypatch.setattr(corpus, "propose", sampled)


def layers_of(rows: TokenRows) -> list[tuple[int, ...]]:
    """The tokens of each layer in rows."""
    found = []
    for row, chosen in zip(rows.tokens, rows.chosen, strict=True):
        ends = np.flatnonzero(np.diff(chosen.astype(int))) + 1
        for first, end in zip([HEADER, *ends[1::2]], ends[::2], strict=False):
            found.append(tuple(row[first:end].tolist()))
    return found


@pytest.mark.usefixtures("random_mappings")
def test_no_layer_is_in_training_and_in_validation() -> None:
    training, validation = split(("bert_base", "resnet18"))
    prior = load_prior()
    seen, held = (
        {layer for number in range(30) for layer in layers_of(each.rows(number, prior))}
        for each in (training, validation)
    )
    whole = {
        tuple(tokens.of_layer(each)) for name in validation.networks for each in models()[name]
    }
    assert held == whole
    assert not seen & held
    known = {tuple(tokens.of_layer(each)) for layers in models().values() for each in layers}
    # BERT and GPT-2 have the same widths: some layers of GPT-2 are left, and many varied ones.
    assert len(seen & known) > 40
    assert len(seen - known) > 100


@pytest.mark.usefixtures("random_mappings")
def test_a_document_follows_from_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    prior, drawn = load_prior(), Corpus(("gpt2", "alexnet"))
    first = [drawn.rows(number, prior) for number in range(4)]
    again = [Corpus(("gpt2", "alexnet")).rows(number, prior) for number in (3, 2, 1, 0)]
    for one, other in zip(first, reversed(again), strict=True):
        np.testing.assert_array_equal(one.tokens, other.tokens)
        np.testing.assert_array_equal(one.chosen, other.chosen)
    assert len({each.tokens.tobytes() for each in first}) == 4
    monkeypatch.setattr(corpus, "WIDTH", 513)
    longer = drawn.rows(3, prior)
    assert longer.tokens.shape == (1, 513)
    assert layers_of(longer) == layers_of(first[3])


def test_a_corpus_holds_the_best_proposals_of_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    prior, hardware = load_prior(), PRESETS["edge"]
    monkeypatch.setattr(corpus, "_machine", lambda rng: hardware)
    rows = Corpus(("gpt2",), varied=False).rows(0, prior)
    objective = find_objective(str(tokens._WORDS[rows.tokens[0, 0]]))
    for row, chosen in zip(rows.tokens, rows.chosen, strict=True):
        assert row[:HEADER].tolist() == tokens.of_machine(hardware, objective)
        assert not chosen[row == tokens.END].any()
    said = rows.tokens[rows.chosen].tolist()
    for layer in models()["gpt2"]:
        problem = Problem(MapSpace(layer, hardware))
        points = Proposals(prior, problem, objective).pool(np.random.default_rng(0))
        values, _ = problem.score(points, objective)
        sentence = encode(problem.space, points[values.argmin()])
        assert said[: len(sentence)] == sentence
        del said[: len(sentence)]
        again, _ = problem.score(decode(problem.space, sentence)[None], objective)
        np.testing.assert_allclose(again, values.min(), rtol=0.01)
    assert not said


def test_an_impossible_corpus_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="resnet"):
        split(("resnet",))
