"""The command ``maestro-env``: what it lists, starts and refuses, and how soon."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from commands import completion, layers

import maestro_env
from maestro_env.experiments.__main__ import main
from maestro_env.experiments.shell import cli, flags
from maestro_env.workloads.finding import all_layers, models

ROOT = Path(__file__).parents[1]
NAMES = cli.command_names()
HEAVY = {"matplotlib", "rich", "sklearn", "stable_baselines3", "torch", "yaml"}


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of ``maestro-env``."""
    monkeypatch.setattr(sys, "argv", ["/usr/bin/maestro-env", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_has_a_line_for_each_command(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call(monkeypatch, capsys, *arguments)
    assert (status, err) == (0, "")
    assert re.findall(r"^  ([a-z-]+)  +\w+ .{10,}[a-z]$", out, re.MULTILINE) == NAMES
    assert max(map(len, out.splitlines())) <= 100


def test_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(monkeypatch, capsys, "--version")
    assert shown == (0, f"maestro-env {maestro_env.__version__}\n", "")


@pytest.mark.parametrize(
    ("argument", "message"),
    [("rnu", "did you mean run?"), ("--versoin", "did you mean --version?"), ("", "allowed: ")],
)
def test_what_is_no_command_is_refused(
    argument: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call(monkeypatch, capsys, argument)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize("argument", ["--version", "--help", "-h"])
def test_what_stands_alone_takes_no_other_argument(
    argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = call(monkeypatch, capsys, argument, "run")
    assert shown == (
        2,
        "",
        f"error: {argument} takes no command; use COMMAND --help\n",
    )


def test_a_command_has_the_name_it_was_called_by(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = call(monkeypatch, capsys, "optimum", "--help")
    assert (status, out.splitlines()[0]) == (0, "usage: maestro-env optimum [options]")
    status, _, err = call(monkeypatch, capsys, "run", "--layer=none")
    assert (status, err[:30]) == (2, "error: unknown layer 'none': a")


def test_help_takes_less_than_half_a_second_and_loads_nothing_heavy() -> None:
    """All in one process: what none of them loads, no one does."""
    # The measures of dependence that it lists are scipy's.
    names = sorted(NAMES, key="cluster".__eq__)
    script = f"""
import sys, time
import maestro_env.experiments.__main__
for name in {names}:
    sys.argv = ["maestro-env", name, "--help"]
    try:
        maestro_env.experiments.__main__.main()
    except SystemExit:
        print("took", time.process_time(), *{{module.partition(".")[0] for module in sys.modules}})
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    took = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("took ")]
    for name, (_, *loaded) in zip(names, took, strict=True):
        assert not HEAVY & set(loaded)
        assert ("scipy" in loaded) == (name == "cluster")
    # Three times what was measured: other processes slow this one down.
    assert np.diff([0.0, *(float(seconds) for seconds, *_ in took)]).max() < 1.5


# Layers


def test_all_layers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert layers([]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: row for row in rows if row and "_l" in row[0]}
    assert list(found) == [layer.name for layer in all_layers()]
    for layer in all_layers():
        name, operator, *dimensions, macs, count = found[layer.name]
        assert (name, operator, " ".join(dimensions)) == (
            *(layer.name, layer.operator, layer.dimensions),
        )
        assert (int(macs.replace(",", "")), int(count)) == (layer.macs, layer.count)


def test_layers_of_one_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert layers(["--network=vgg16"]) == 0
    named = re.findall(r"^(\w+_l\d+) ", capsys.readouterr().out, re.MULTILINE)
    assert named == [layer.name for layer in models()["vgg16"]]
    assert layers(["--network=vgg17"]) == 2
    assert "did you mean vgg16?" in capsys.readouterr().err


# Completion


def completed(script: str, *texts: str) -> list[set[str]]:
    """What bash offers for the last word of each text after ``maestro-env``."""
    asking = f"""
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
function=$(complete -p maestro-env | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
while IFS= read -r line; do
    COMP_WORDS=(maestro-env $line)
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    COMPREPLY=()
    $function maestro-env "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
    echo "${{COMPREPLY[@]}}"
done
"""
    ended = subprocess.run(
        ["bash", "-c", asking],
        input="".join(f"{text}\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(line.split()) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="module")
def bash_script() -> str:
    pytest.importorskip("shtab")
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    command = [sys.executable, "-m", "maestro_env.experiments", "completion", "bash"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return ended.stdout


def test_bash_completes_commands_flags_and_files(bash_script: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").touch()
    of_flags = (f"{name} --" for name in NAMES)
    every, optima, seeds, file, *flags_of = completed(
        bash_script, " ", "opt", "run --see", f"evaluate {tmp_path}/mi", *of_flags
    )
    assert every >= set(NAMES)
    assert optima == {"optima", "optimum"}
    assert seeds == {"--seed", "--seeds"}
    assert file == {f"{tmp_path}/mine.json"}
    for name, offered in zip(NAMES, flags_of, strict=True):
        config = cli.load(name).Config
        named = [f for f in fields(config) if not flags._bare(f)]
        assert offered - {"--help"} == {flags._flag(field) for field in named}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_have_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert completion([shell]) == 0
    assert "optimum" in capsys.readouterr().out


def test_unknown_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert completion(["fish"]) == 2
    assert capsys.readouterr().err == "error: unknown shell 'fish': allowed: bash, tcsh, zsh\n"


# Without extras


LEFT_OUT = [
    *("marl_mlp", "marl_paper", "optuna", "prior_adapted", "ppo", "ppo_box", "ppo_tuned"),
    *("maddpg", "masac", "qmix"),
]
NEEDING_TORCH = ["ppo", "prior_adapted", "marl_mlp", "marl:policy=mlp", "maddpg", "masac"]
NEEDING_TORCH += ["qmix"]
LINES = {
    "all": ["run", "--mapper=all", "--samples=10", "--layer=gemm:M=8,N=8,K=8"],
    "resume": ["run", "--resume"],
    "completion": ["completion", "bash"],
    **{mapper: ["run", f"--mapper=random,{mapper}"] for mapper in NEEDING_TORCH},
}
Ended = tuple[int, str, str, Path]


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Status, stdout, stderr and folder of every line where no extra is installed."""
    root = tmp_path_factory.mktemp("bare")
    script = f"""
import os, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("optuna", "torch", "stable_baselines3", "shtab"):
            raise ModuleNotFoundError("not installed", name=name)

sys.meta_path.insert(0, Missing())
import maestro_env.experiments.__main__
from matplotlib.figure import Figure
Figure.savefig = lambda _, file, **__: open(file, "w").close()
for number, line in enumerate({list(LINES.values())!r}):
    os.makedirs(f"{root}/{{number}}/cwd")
    os.chdir(f"{root}/{{number}}/cwd")
    sys.stdout, sys.stderr = open("../out", "w"), open("../err", "w")
    sys.argv = ["maestro-env", *line]
    try:
        maestro_env.experiments.__main__.main()
    except SystemExit as end:
        sys.stdout.close()
        sys.stderr.close()
        print(end.code, file=open("../status", "w"))
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    ended = {}
    for number, name in enumerate(LINES):
        folder = root / str(number)
        status, out, err = ((folder / each).read_text() for each in ("status", "out", "err"))
        ended[name] = int(status), out, err, folder / "cwd"
    return ended


def test_all_leaves_out_what_an_extra_is_missing_for(without_extras: dict[str, Ended]) -> None:
    status, _, err, folder = without_extras["all"]
    told = f"note: skipped (not installed): {', '.join(LEFT_OUT)}; "
    assert (status, err) == (0, f"{told}to have them: pip install -e '.[optuna,rl]' in a clone\n")
    searched = {path.name for path in folder.glob("runs/*/cells/*/*/*") if path.is_dir()}
    assert {"random", "ga", "marl"} <= searched
    assert not set(LEFT_OUT) & searched


def test_what_is_left_out_is_not_told_beside_an_error(without_extras: dict[str, Ended]) -> None:
    status, _, err, _ = without_extras["resume"]
    assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("mapper", NEEDING_TORCH)
def test_naming_it_is_refused(mapper: str, without_extras: dict[str, Ended]) -> None:
    status, _, err, folder = without_extras[mapper]
    assert status == 2
    assert re.fullmatch(r"error: .* needs torch: pip install -e '.\[rl\]' in a clone\n", err)
    assert list(folder.iterdir()) == []


def test_completion_without_shtab_is_refused(without_extras: dict[str, Ended]) -> None:
    status, out, err, _ = without_extras["completion"]
    assert (status, out) == (2, "")
    assert err == "error: completion needs shtab: pip install -e '.[completion]' in a clone\n"


def test_a_folder_of_the_same_name_is_no_obstacle(tmp_path: Path) -> None:
    """The installed program does not import from the working directory."""
    program = Path(sys.executable).with_name("maestro-env")
    if not program.exists():
        pytest.skip("maestro-env is not installed")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("raise RuntimeError\n")
    command = [str(program), "layers", "--network=vgg16"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
