"""``maestro-env sparse agents`` and ``speed``: what they train, count, print and refuse."""

from __future__ import annotations

import csv
import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import sparse as main
from gate import few

torch = pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.experiments.papers.sparse import _ARMS, agent_training, curves  # noqa: E402
from maestro_env.experiments.papers.sparse.agent_arms import ARMS, AgentSize, Tuning, course_of  # noqa: E402
from maestro_env.experiments.papers.sparse.agent_training import (  # noqa: E402
    TASKS,
    Trained,
    Training,
    evaluate,
    random_return,
)
from maestro_env.experiments.papers.sparse.agents import kept  # noqa: E402
from maestro_env.experiments.store import timing  # noqa: E402
from maestro_env.mappers.papers.tasks import Task  # noqa: E402
from maestro_env.mappers.papers.value_based.checkpoint import (  # noqa: E402
    AgentsCheckpoint,
    AgentsError,
    read_agents,
)
from maestro_env.mappers.papers.value_based.episodes import NEWEST, Episodes, play  # noqa: E402
from maestro_env.mappers.papers.value_based.learner import ValueLearner  # noqa: E402
from maestro_env.mappers.papers.value_based.qmix import Course  # noqa: E402
from maestro_env.mappers.papers.value_based.settings import Settings  # noqa: E402
from maestro_env.mappers.parts import arrays  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

TINY = ("agents", "--tasks=mapping", "--width=16", "--episodes=208", "--rate=0.02", "--density=0.3")


class Meeting(Task):
    """Two agents of unequal sizes are paid for choosing together what both see."""

    def __init__(self, copies: int) -> None:
        super().__init__(copies, ((3,), (3, 2)), length=2)
        self.widths, self._place = (3, 4), np.zeros(copies, dtype=np.int64)

    def _begin(self, rng: np.random.Generator) -> None:
        self._place = rng.integers(3, size=self.copies)

    def _act(self, actions: np.ndarray) -> np.ndarray:
        met = (actions[:, :2] == self._place[:, np.newaxis]).all(axis=1)
        return np.repeat(met[:, np.newaxis], 2, axis=1).astype(float)

    def _observe(self) -> list[np.ndarray]:
        seen = np.eye(4, dtype=np.float32)[self._place]
        return [seen[:, :3], seen]


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "mapping", Meeting)  # type: ignore[arg-type]
    monkeypatch.setattr(agent_training, "RESETS", 50)


@pytest.mark.slow
@pytest.mark.usefixtures("meeting")
def test_from_nothing_to_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, arms = tmp_path / "out", ("dense", "tiny", "mast")
    flags = [*TINY, f"--arms={','.join(arms)}", "--seeds=1", f"--out={out}"]
    assert main(flags) == 0
    shown = capsys.readouterr().out
    paths = {
        arm: out / "trainings" / "mapping-qmix" / arm / "208-0.02-50" / "0.json" for arm in arms
    }
    found = {arm: json.loads(path.read_text())["trained"] for arm, path in paths.items()}
    totals = {arm: sum(each["flops"].values()) for arm, each in found.items()}
    for arm, path in paths.items():
        with np.load(path.with_suffix(".npz")) as file:
            masks = [file[f"mask/{layer}"] for layer in range(5)]
            weights = [file[f"parameter/{2 * layer}"] for layer in range(5)]
        assert not any(each[~mask].any() for each, mask in zip(weights, masks, strict=True))
        width = 32 if arm != "tiny" else weights[4].shape[1]
        agents, mixer = (sum(int(each.sum()) for each in some) for some in (masks[:3], masks[3:]))
        mixer += 3 * width
        moved = 1 if arm == "mast" else 0
        # 26 rounds of 8 episodes and of 8 updates from 32; all of 2 steps.
        each, steps = 2 * 64, 208 - moved
        wanted = 2 * agents * 208 * 2 + each * (agents + mixer) * (208 + 3 * steps)
        if moved:
            every = (3 + 4) * 16 + 2 * 16**2 + 16 * (3 + 5)
            every += 4 * 7 * 32 + 32 * (64 + 32 + 32 + 1) + 96
            wanted += each * (2 * (agents + mixer) + every)
        assert totals[arm] == found[arm]["curve"][-1][1] == wanted
        assert found[arm]["choosing"] == 2 * agents
        play_again = partial(evaluate, "mapping", resets=50)
        assert (
            play_again(read_agents(path.with_suffix(".npz")).learner().greedy)
            == (found[arm]["last"])
        )
    assert found["dense"]["last"] == 2
    assert found["mast"]["random"] == random_return("mapping", 50)
    assert [point[0] for point in found["mast"]["curve"]][-2:] == [192, 208]
    rows = [line.split() for line in shown.splitlines() if line.startswith("mast ")]
    times = totals["dense"] / totals["mast"]
    assert rows[0][1:4] == [
        "1",
        f"{totals['mast'] / 1e12:.2e}".replace("e-0", "e-"),
        f"{times:.1f}",
    ]
    assert rows[1][-2:] == ["not", "reached"]
    assert max(map(len, shown.partition("plot: ")[0].splitlines())) <= 80
    # What is trained stays, and other files in its place are noticed.
    monkeypatch.setattr(Training, "compute", lambda *_: 1 / 0)
    assert main([*flags, "--resume"]) == 0
    assert capsys.readouterr().out == shown
    file, other = (paths[arm].with_suffix(".npz") for arm in ("dense", "mast"))
    file.write_bytes(other.read_bytes())
    assert main([*flags, "--resume"]) == 2
    assert f"{file} beside it is another file; delete it" in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
def test_every_task_can_be_learnt(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if task.startswith("foraging"):
        pytest.importorskip("lbforaging", reason="needs the extra foraging")
    monkeypatch.setattr(agent_training, "RESETS", 2)
    monkeypatch.setattr(agent_training, "_RESETS_OF_POINT", 2)
    flags = ("--arms=mast-lambda", "--learners=vdn", "--seeds=1", "--width=8", "--episodes=8")
    assert main(["agents", f"--tasks={task}", *flags, f"--out={tmp_path / 'out'}"]) == 0
    assert f"vdn on {task}, 8 episodes" in capsys.readouterr().out


def test_arms_differ_by_what_their_names_say() -> None:
    assert list(ARMS) == _ARMS.split(",")
    task, size = Meeting(1), AgentSize(16, 0.3)
    found = {arm: course_of(arm, "qmix", task, size, Tuning(208, 0.01, 50)) for arm in ARMS}
    assert len({(each.acted, each.rows, each.settings.updates) for each in found.values()}) == 1
    assert {each.settings.rate for each in found.values()} == {0.01}
    shown = {
        arm: (of.density, of.growth, of.worth, of.trace, ARMS[arm].recent)
        for arm, of in ((arm, each.settings) for arm, each in found.items())
    }
    dense, mast = (1.0, "none", "max", 0.0, 0), (0.3, "gradient", "soft_mellowmax", 0.8, 12)
    assert shown["dense"] == shown["tiny"] == dense
    assert [shown[arm][1] for arm in ("static", "set", "rigl")] == ["none", "random", "gradient"]
    assert {shown[arm][2:] for arm in ("static", "set", "rigl")} == {dense[2:]}
    assert shown["mast"] == mast
    assert shown["mast-sparsity"] == (*dense[:2], *mast[2:])
    for part, place in (("rigl", 1), ("mellowmax", 2), ("lambda", 3), ("recent", 4)):
        without = [*mast]
        without[place] = dense[place]
        assert shown[f"mast-{part}"] == tuple(without)


@pytest.mark.parametrize("kind", ["iql", "vdn", "qmix"])
def test_tiny_takes_as_many_operations_as_sparse_arms(kind: str) -> None:
    task = TASKS["mapping"](1)
    for width in (128, 256):
        tiny, mast = (
            course_of(
                arm, kind, task, AgentSize(width, 0.05), Tuning(20_000, 5e-4, 200)
            ).operations()
            for arm in ("tiny", "mast")
        )
        assert tiny.total() == pytest.approx(mast.total(), rel=0.05)


@pytest.mark.parametrize(
    ("growth", "worth", "kernels"),
    [
        ("none", "max", "dense"),
        ("random", "max", "sparse"),
        ("gradient", "soft_mellowmax", "sparse"),
    ],
)
@pytest.mark.parametrize("kind", ["iql", "qmix"])
def test_files_hold_agents_and_what_they_took(
    kind: str, growth: str, worth: str, kernels: str, tmp_path: Path
) -> None:
    task, rng = Meeting(3), np.random.default_rng(0)
    settings = Settings(
        *(5, (6, 5), 4), worth=worth, density=0.4, growth=growth, interval=2, kernels=kernels
    )
    course = Course(kind, task.widths, task.heads, settings, 5 * 3 * 2, 4 * 2)
    learner, episodes = course.learner(rng), Episodes(task, 30, rng)
    for _ in range(settings.updates):
        play(task, partial(learner.act, epsilon=0.5), rng, episodes.replay)
        learner.update(episodes.draw(4), task.length)
    assert course.operations() == learner.meter.spent
    path = tmp_path / "agents.npz"
    AgentsCheckpoint.of(course, learner).save(path)
    kept = read_agents(path)
    assert kept.operations() == learner.meter.spent
    assert sum(int(mask.sum()) for mask in kept.masks) == sum(learner.topology.links)
    seen = [rng.normal(size=(40, width)).astype("f") for width in task.widths]
    assert np.array_equal(kept.learner().greedy(seen), learner.greedy(seen))
    # A weight where none exists.
    row = tuple(np.argwhere(~kept.masks[0])[0])
    kept.parameters[0][row] = 1
    kept.save(path)
    with pytest.raises(AgentsError, match="npz: it has weights that its masks do not have"):
        read_agents(path)
    content = path.read_bytes()
    damaged = [bytes([*content[:at], content[at] ^ 255, *content[at + 1 :]]) for at in (60, 300)]
    for each in (b"", b"PK", *damaged):
        path.write_bytes(each)
        with pytest.raises(AgentsError, match="cannot read the checkpoint"):
            read_agents(path)
    with pytest.raises(AgentsError, match="it is not a regular file"):
        read_agents("/dev/zero")


def _header(shape: int) -> bytes:
    file = BytesIO()
    described = {"descr": "|u1", "fortran_order": False, "shape": (shape,)}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def _text(course: object) -> bytes:
    file = BytesIO()
    np.save(file, np.array(course if isinstance(course, str) else json.dumps(course)))
    return file.getvalue()


@pytest.mark.parametrize(
    ("course", "flags", "told"),
    [
        (_text("[" * 100_000), 0, "recursion"),
        (_text({"settings": "none"}), 0, "'str' object"),
        (_text({"settings": {"hidden": [2], "worth": "x"}}), 0, "argument"),
        (_text([]), 1, "is encrypted"),
        (_header(2**50), 0, "Unable to allocate"),
        (_header(10**6) + bytes(10**6), 0, "has 1,000,128 bytes of arrays; allowed: 1,000,000"),
    ],
)
def test_whatever_a_file_of_agents_holds_is_refused_as_such(
    course: bytes, flags: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_MOST_BYTES", 10**6)
    path = tmp_path / "agents.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("course.npy", course)
    content = bytearray(path.read_bytes())
    content[6] |= flags
    content[content.index(b"PK\x01\x02") + 8] |= flags
    path.write_bytes(content)
    with pytest.raises(AgentsError, match=f"cannot read the checkpoint .*agents.npz: .*{told}"):
        read_agents(path)


@pytest.mark.usefixtures("meeting")
@pytest.mark.parametrize(("arm", "recent"), few([("mast", 12), ("rigl", 0)]))
def test_trainings_explore_less_and_less_and_draw_what_their_arm_says(
    arm: str, recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chances: list[float] = []
    recents: list[tuple[int, int]] = []
    sizes: list[int] = []

    def spy(task: Task, act: Any, *others: Any) -> np.ndarray:
        if isinstance(act, partial):  # Evaluations are greedy.
            chances.append(act.keywords["epsilon"])
        return play(task, act, *others)

    class Spied(Episodes):
        def __init__(self, task: Task, remembered: int, rng: np.random.Generator) -> None:
            sizes.append(remembered)
            super().__init__(task, remembered, rng)

        def draw(self, batch: int, recent: int = 0) -> Any:
            recents.append((batch, recent))
            return super().draw(batch, recent)

    monkeypatch.setattr(agent_training, "play", spy)
    monkeypatch.setattr(agent_training, "Episodes", Spied)
    setup = agent_training.Setup("mapping", "vdn", arm, 0, Tuning(160, 0.01, 50), AgentSize(8, 0.5))
    agent_training._train(setup, setup.course(), lambda *_: None)
    # 20 rounds: from 1 to 0.05 in the first 6.
    assert chances == pytest.approx([1 - 0.95 * n / 6 for n in range(6)] + [0.05] * 14)
    assert recents == [(32, recent)] * 160
    assert (sizes, NEWEST) == ([5000], 128)


@pytest.mark.usefixtures("meeting")
def test_agents_that_diverge_are_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    update = ValueLearner.update

    def diverge(self: ValueLearner, *drawn: Any, **how: Any) -> None:
        update(self, *drawn, **how)
        with torch.no_grad():
            self.networks[0].parameters[1][:] = np.nan

    monkeypatch.setattr(ValueLearner, "update", diverge)
    flags = [*TINY, "--arms=dense", "--episodes=8", "--seeds=1", f"--out={tmp_path / 'out'}"]
    assert main(flags) == 1
    assert "some weights are no numbers any more; lower the rate" in capsys.readouterr().err
    assert not list(tmp_path.rglob("0.npz"))


def test_episodes_of_evaluations_begin_alike() -> None:
    seen = []

    def act(observations: Sequence[np.ndarray]) -> np.ndarray:
        seen.append(np.hstack(observations))
        return np.zeros((len(observations[0]), 13), dtype=np.int64)

    # Whoever changes nothing gains nothing.
    assert [evaluate("mapping", act, resets=3) for _ in range(2)] == [0, 0]
    assert np.array_equal(seen[0], seen[25])
    assert len(TASKS["mapping"](1).heads) == 4


def trained(flops: int, *lasts: float) -> list[Trained]:
    return [Trained(last, 0.2, [], {"act agents": flops}, 1, 1.0, "") for last in lasts]


@pytest.mark.parametrize(
    ("flops", "lasts", "verdict"),
    [
        (50, (1.18, 1.2), "reached"),
        (50, (1.1, 1.2), "not decided"),
        (50, (1.1, 1.12), "not reached"),
        (53, (1.2, 1.2), "not reached"),
        (50, (1.2,), "not decided"),
        (50.1, (1.2, 1.2), "not reached"),
    ],
)
def test_verdicts_against_closed_forms(flops: int, lasts: Sequence[float], verdict: str) -> None:
    found = kept(trained(1000, 1.2, 1.2), trained(flops, *lasts))
    assert found.times == 1000 / flops
    # Each mean of two is either of them with a chance of 1/4: so are the ends of the interval.
    ends = lasts if len(lasts) > 1 else (np.nan, np.nan)
    wanted = tuple(100 * (each - 0.2) for each in (np.mean(lasts), *ends))
    assert found.share == pytest.approx(wanted, nan_ok=True)
    assert found.verdict == verdict


def test_an_update_is_timed_in_each_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timing, "_LEAST_SECONDS", 0.001)
    file = tmp_path / "speed.csv"
    flags = ["--widths=8", "--densities=0.5", "--batch=4", "--repeats=1", f"--csv={file}"]
    assert main(["speed", *flags]) == 0
    shown = capsys.readouterr().out
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["method"] for row in rows] == ["dense", "dense with masks", "sparse kernels"]
    for row in rows:
        update, last, mean = (float(row[f"{name}_ms"]) for name in ("update", "last", "mean"))
        assert mean == pytest.approx((199 * update + last) / 200)
        assert f"{float(rows[0]['mean_ms']) / mean:.2f}\n" in shown


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tasks=smac"], "unknown task 'smac': allowed: foraging, foraging-8x8, mapping"),
        (["--tasks=foraging"], "needs lbforaging: pip install -e '.[foraging]'"),
        (["--learners=coma"], "unknown learner 'coma': allowed: iql, qmix, vdn"),
        (["--arms=mst"], "unknown arm 'mst': did you mean "),
        (["--episodes=12"], "--episodes 12; allowed: multiples of 8"),
        (["--density=0"], "--density: '0'; allowed: numbers from 0.001 to 1"),
        (["--width=4"], "'4'; allowed: integers from 8"),
        (["--batch=4"], "--batch: agents takes only --tasks, --learners, "),
        (["--resume"], "--resume needs --out"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str],
    message: str,
    assert_refused: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lbforaging", None)
    assert_refused(main, [*TINY, *flags], message)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--widths=8,0", "--widths: '0'; allowed: integers from 1 to 8192"),
        ("--densities=0", "--densities: '0'; allowed: numbers from 0.001 to 1"),
        ("--seeds=2", "--seeds: speed takes only --widths, --densities, --batch, "),
    ],
)
def test_bad_flags_of_speed_are_refused(
    flag: str, message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, ["speed", flag], message)


def test_a_curve_is_the_mean_over_seeds_of_each_arm() -> None:
    dense, other = [[(8, 10, 1.0), (16, 30, 2.0)], [(8, 10, 2.0), (16, 30, 5.0)]], [[(8, 4, -1.0)]]
    panels = {"a": {"dense": dense, "mast": other}, "b": {"mast": other}}
    figure = curves.draw_curves(panels, "return")
    first, second = figure.axes
    lines = [[line.get_xydata().tolist() for line in each.lines] for each in (first, second)]
    assert lines == [[[[10, 1.5], [30, 3.5]], [[4, -1]]], [[[4, -1]]]]
    assert first.lines[1].get_color() == second.lines[0].get_color() != first.lines[0].get_color()
    assert [text.get_text() for text in figure.legends[0].texts] == ["dense", "mast"]
