"""Data sets as they are read: tables, arrays, Minari's episodes, and damage that is named."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import dataset as main
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces

pytest.importorskip("pyarrow", reason="needs the extra data")

import pyarrow.parquet as pq

from maestro_env import METRICS, STATUSES, MaestroEnv, MaestroEnvError, MapSpace, Rows
from maestro_env.datasets.parquet import Dataset, DatasetError, from_table, open_dataset, to_table

ROWS = 400
LAYER = "gemm:M=6,N=5,K=4"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set whose rows are valid, overflow, or have no figures."""
    directory = tmp_path_factory.mktemp("data")
    machine = directory / "machine.yaml"
    machine.write_text("num_pes: 8\nl1_bytes: 40\nl2_bytes: 100\n")
    flags = [f"--layers={LAYER}", f"--samples={ROWS}", f"--hardware={machine}"]
    assert main([*flags, f"--out={directory / 'out'}"]) == 0
    return directory / "out"


@pytest.fixture
def dataset(written: Path) -> Dataset:
    return open_dataset(written)


# --- Tables and arrays ----------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> tuple[MapSpace, np.ndarray, Rows]:
    space, count = draw(spaces()), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    metrics = rng.normal(size=(count, len(METRICS))) * 10.0 ** rng.integers(-300, 300)
    metrics[rng.random(metrics.shape) < 0.3] = np.nan
    status = rng.integers(0, len(STATUSES), size=count).astype(np.uint8)
    return space, space.sample(count, rng), Rows(metrics, status)


@given(tables())
def test_what_was_put_in_a_table_comes_out(drawn: tuple[MapSpace, np.ndarray, Rows]) -> None:
    space, points, rows = drawn
    table = to_table(space, points, rows)
    found, read = from_table(space, table)
    assert found.dtype == np.int32
    assert np.array_equal(found, points)
    assert read.status.dtype == np.uint8
    assert np.array_equal(read.status, rows.status)
    assert np.array_equal(read.metrics, rows.metrics, equal_nan=True)
    assert table["status"].to_pylist() == [STATUSES[code] for code in rows.status]
    nulls = [table[name].null_count for name in METRICS]
    assert nulls == np.isnan(rows.metrics).sum(axis=0).tolist()


def test_other_programs_see_names_and_units(written: Path) -> None:
    (folder,) = (path for path in written.iterdir() if path.is_dir())
    table = pq.read_table(folder)
    assert table.num_rows == ROWS
    assert table.schema.field("latency_cycles").metadata == {b"unit": b"cycles"}
    assert {str(table.schema.field(name).type) for name in METRICS} == {"double"}


def test_columns_can_be_chosen(dataset: Dataset) -> None:
    (table,) = dataset.tables(LAYER, ["energy_nj", "status"], split="test")
    assert table.column_names == ["energy_nj", "status"]
    space = dataset.problems[LAYER].space
    (whole,) = dataset.tables(LAYER, split="test")
    narrow = whole.select([*(each.name for each in space.parameters), "status", "energy_nj"])
    _, rows = from_table(space, narrow)
    assert np.isfinite(rows.metrics[:, METRICS.index("energy_nj")]).any()
    assert np.isnan(rows.metrics[:, METRICS.index("latency_cycles")]).all()


# --- Minari ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("objective", "reward"), [("edp", "inverse"), ("latency", "log")])
def test_an_episode_is_a_step_of_the_environment(
    dataset: Dataset, objective: str, reward: str
) -> None:
    pytest.importorskip("minari", reason="needs the extra data")
    from maestro_env.datasets.minari_view import minari_view

    view = minari_view(dataset, LAYER, objective, reward)
    problem = dataset.problems[LAYER]
    env = MaestroEnv(problem.layer, objective, problem.hardware, reward=reward, episode_length=1)
    assert (len(view), view.total_steps) == (ROWS, ROWS)
    assert (view.action_space, view.observation_space) == (env.action_space, env.observation_space)
    rewards = []
    for number, episode in enumerate(view):
        first, _ = env.reset()
        seen, paid, terminated, truncated, _ = env.step(episode.actions[0])
        assert episode.id == number
        assert episode.observations.tobytes() == np.stack([first, seen]).tobytes()
        assert episode.observations.dtype == np.float32
        assert episode.actions[0] in view.action_space
        assert (episode.rewards.tolist(), episode.terminations.tolist()) == ([paid], [terminated])
        assert episode.truncations.tolist() == [truncated]
        rewards.append(paid)
    assert 0 in rewards
    assert max(rewards) > 0
    if (objective, reward) == ("edp", "inverse"):
        recovered = view.recover_environment().unwrapped
        assert recovered.problem == env.problem


def test_minari_samples_filters_and_recovers(tmp_path: Path) -> None:
    pytest.importorskip("minari", reason="needs the extra data")
    from maestro_env.datasets.minari_view import minari_view

    flags = [f"--layers={LAYER}", "--samples=30", "--hardware=edge", f"--out={tmp_path / 'out'}"]
    assert main(flags) == 0
    view = minari_view(open_dataset(tmp_path / "out"), LAYER)
    view.set_seed(0)
    assert len({episode.id for episode in view.sample_episodes(10)}) == 10
    kept = view.filter_episodes(lambda episode: episode.rewards[0] > 1)
    assert 0 < len(kept) < len(view) == 30
    assert kept[0].rewards[0] > 1
    env = view.recover_environment()
    env.reset(seed=0)
    assert env.step(view[3].actions[0])[1] == view[3].rewards[0]
    with pytest.raises(DatasetError, match="read-only"):
        view.update_dataset_from_buffer([])
    assert view.spec.dataset_id.startswith("maestro-env/gemm")


def test_a_view_names_what_it_does_not_know(dataset: Dataset) -> None:
    pytest.importorskip("minari", reason="needs the extra data")
    from maestro_env.datasets.minari_view import minari_view

    for arguments in (("nope",), (LAYER, "nope"), (LAYER, "edp", "nope")):
        with pytest.raises(MaestroEnvError, match=r"unknown .* 'nope'.* allowed: "):
            minari_view(dataset, *arguments)


# --- Damage ---------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def turn(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, flip, empty, turn])
def test_a_damaged_file_is_named(
    written: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    copy = tmp_path / "copy"
    (folder,) = (path for path in written.iterdir() if path.is_dir())
    (copy / folder.name).mkdir(parents=True)
    (copy / "dataset.json").write_bytes((written / "dataset.json").read_bytes())
    path = copy / folder.name / "train-00000.parquet"
    path.write_bytes((folder / "train-00000.parquet").read_bytes())
    damage(path)
    with pytest.raises(DatasetError, match=r"cannot read .*train-00000\.parquet"):
        list(open_dataset(copy).rows(LAYER))


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("problem"),
        lambda facts: facts["draw"].update(format="other/1"),
        lambda facts: facts.pop("draw"),
        lambda facts: facts["problem"]["hardware"].update(num_pes=0),
        lambda facts: facts["problem"].update(model="nope"),
        lambda facts: facts["layers"][LAYER].update(layer=3),
        lambda facts: facts["layers"][LAYER].update(folder=3),
        lambda facts: facts["layers"][LAYER].update(folder="../other"),
        lambda facts: facts["layers"][LAYER].pop("folder"),
        lambda facts: facts.update(layers=[]),
    ],
)
def test_a_damaged_record_is_refused(
    written: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    facts = json.loads((written / "dataset.json").read_text())
    change(facts)
    (tmp_path / "dataset.json").write_text(json.dumps(facts))
    with pytest.raises(DatasetError, match=r"dataset\.json"):
        open_dataset(tmp_path)


@pytest.mark.parametrize("text", ["", "3", "[]", "{}", '{"draw": 3}', "\x00"])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(text)
    with pytest.raises(DatasetError, match=r"holds no data set: dataset\.json"):
        open_dataset(tmp_path)
    with pytest.raises(DatasetError, match=r"holds no data set: dataset\.json"):
        open_dataset(tmp_path / "nowhere")


def test_what_is_not_there_is_refused(dataset: Dataset) -> None:
    with pytest.raises(MaestroEnvError, match="unknown layer 'nope': allowed: gemm"):
        dataset.count("nope")
    with pytest.raises(MaestroEnvError, match="unknown column 'energy'"):
        list(dataset.tables(LAYER, ["energy"]))
    with pytest.raises(TypeError, match="directory is 3; allowed"):
        open_dataset(3)  # type: ignore[arg-type]


def test_a_data_set_can_be_sent_to_another_process(dataset: Dataset) -> None:
    assert pickle.loads(pickle.dumps(dataset)).count(LAYER) == ROWS
