from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run as main
from run_helpers import interrupt_after_import, run

from maestro_env.evaluation.models import MODELS
from maestro_env.experiments.commands.run import Config as RunConfig
from maestro_env.experiments.shell import cli, flags


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_list_layers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-layers"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "mobilenetv2_l2 " in line)
    assert line.split() == [
        *("mobilenetv2_l2", "CONV", "K16", "C32", "Y112", "X112", "R1", "S1", "6,422,528", "1")
    ]


BAD_INPUT = {
    "layer": (["--layer=mobilenetv2_l222"], "did you mean mobilenetv2_l2"),
    "objective": (["--objective=epd"], "allowed: area, "),
    "mapper": (["--mapper=random,gaa"], "did you mean ga or gamma?"),
    "hardware": (["--hardware=unlimted"], "did you mean unlimited?"),
    "model": (["--model=maestor"], f"allowed: {', '.join(sorted(MODELS))}"),
    "schema": (["--schema=legal"], "allowed: auto, full17, legal13, paper10"),
    "tiles": (["--tiles=primes"], "allowed: divisors, integers"),
    "energy": (["--energy=some"], "allowed: csv, total"),
    "refused schema": (["--schema=full17", "--model=maestro"], "tiles R or S"),
    "window": (["--layer=conv:K=1,C=1,Y=2,X=2,R=3,S=3"], "window R = 3 is larger"),
    "all and more": (["--mapper=all,ga"], "'all' cannot be combined"),
    "no directory": (["--out="], "argument --out: '' is empty; give DIRECTORY"),
    "blank directory": (["--out= "], "argument --out: ' ' is empty"),
    "unknown flag": (["--sample=1"], "--sample=1"),
    "line break": (["--objective=e\np"], "unknown objective 'e\\np'"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line_and_nothing_is_done(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)


def test_csv_energy_needs_a_model_that_has_it(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(out, "--energy=csv") == 2
    expected = "error: model exact has no csv energy; allowed: --energy total or --model maestro\n"
    assert capsys.readouterr().err == expected
    assert not out.exists()


def test_flags_of_a_config_make_that_config() -> None:
    config = RunConfig(layer="a b", samples=7, guard=False, out="-x y", resume=True)
    parsed: list[RunConfig] = []
    given = flags.to_flags(config)
    assert flags.run(RunConfig, lambda each: parsed.append(each) or 0, "m", given) == 0
    assert parsed == [config]


# Ctrl-C


# The first and the last import of a command, and a large one between them.
@pytest.mark.parametrize("module", ["argparse", "numpy", "maestro_env.experiments.commands.run"])
def test_ctrl_c_while_the_run_starts(module: str, out: Path) -> None:
    ended = interrupt_after_import(module, "run", f"--out={out}")
    assert ended == (130, ["interrupted\n"])
    assert not out.exists()


@pytest.mark.slow
def test_ctrl_c_while_the_plot_is_drawn(out: Path) -> None:
    flags = (f"--out={out}", "--samples=600", "--mapper=random")
    status, lines = interrupt_after_import("matplotlib.backends._backend_agg", "run", *flags)
    assert status == 130
    assert f"everything finished is in {out}; continue with: " in lines[-1]
    assert "Traceback" not in "".join(lines)


@pytest.mark.parametrize("module", ["maestro_env.experiments.__main__", "experiments.run"])
def test_commands_start_light(module: str) -> None:
    """Until a command answers Ctrl-C, it has imported little but the standard library.

    In a clone, nothing more than the program itself is known as a part of ``experiments``.
    """
    script = f"import sys, {module}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(ended.stdout.split())
    ours = {name for name in loaded if name.startswith(("experiments", "maestro_env.experiments"))}
    shell = {"maestro_env.experiments.shell", "maestro_env.experiments.shell.cli"}
    assert ours == {"maestro_env.experiments", *shell, module, module.partition(".")[0]} - {
        "maestro_env"
    }
    assert not {"argparse", "dataclasses", "gymnasium", "maestro_env.mappers", "numpy"} & loaded


def test_ctrl_c_deferred_is_answered_at_the_end() -> None:
    done = []

    def pressed_in_the_middle() -> None:
        with cli.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the rest of the block")

    # A job in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            pressed_in_the_middle()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done
