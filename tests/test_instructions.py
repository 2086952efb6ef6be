"""A mapping takes no more instructions than is committed, and more would show."""

from __future__ import annotations

import ast

import pytest
from cpp import PRODUCT_FLAGS, ROOT, compiler_version
from instructions import CASES, SLACK, complaint, figures, missing, per_unit, ratio

COMPILERS = tuple(figures()["compilers"])
ANOTHER = "g++ (another) 1.0"

counted = pytest.mark.skipif(missing() is not None, reason=f"counting instructions {missing()}")


@counted
@pytest.mark.parametrize("case", CASES)
def test_a_mapping_takes_the_committed_instructions(case: str) -> None:
    assert complaint(case, per_unit(case), ratio(case), compiler_version()) is None


@counted
@pytest.mark.parametrize("case", CASES)
def test_a_mapping_is_within_the_bound_for_any_compiler(case: str) -> None:
    assert complaint(case, per_unit(case), ratio(case), ANOTHER) is None


def test_the_driver_is_compiled_as_the_product_is() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    keywords = {k.arg: k.value for k in ast.walk(tree) if isinstance(k, ast.keyword)}
    flags = {f"-std=c++{ast.literal_eval(keywords['cxx_std'])}"}
    for each in ast.walk(keywords["extra_compile_args"]):
        if isinstance(each, ast.Constant) and not each.value.startswith("-W"):
            flags.add(each.value)
    assert len(flags) >= 3
    assert flags <= set(PRODUCT_FLAGS)


def test_every_case_has_its_figures() -> None:
    assert ANOTHER not in COMPILERS
    tables = [*figures()["compilers"].values(), figures()["elsewhere"]]
    assert [tuple(table) for table in tables] == [CASES] * len(tables)
    assert min(min(table.values()) for table in tables) > 0


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", CASES)
def test_a_change_of_more_than_the_slack_shows(case: str, compiler: str) -> None:
    committed = figures()["compilers"][compiler][case]
    for change in (-SLACK, 0, SLACK):
        assert complaint(case, committed * (1 + 0.99 * change), 1e9, compiler) is None
    for change in (-SLACK, SLACK):
        found = complaint(case, committed * (1 + 1.01 * change), 1, compiler)
        assert found is not None
        assert str(committed) in found
        assert "python tests/instructions.py --write" in found


@pytest.mark.parametrize("case", CASES)
def test_elsewhere_more_than_the_bound_shows(case: str) -> None:
    bound = figures()["elsewhere"][case]
    assert complaint(case, 1e9, bound, ANOTHER) is None
    found = complaint(case, 1, bound * 1.01, ANOTHER)
    assert found is not None
    assert str(bound) in found
