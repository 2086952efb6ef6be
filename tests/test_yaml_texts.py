"""What YAML files of other tools are written with: expressions, templates, aliases, merges."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.base.errors import HardwareError
from maestro_env.base.expressions import value_of
from maestro_env.base.yaml_file import read_yaml, read_yaml_file

# As Python and arithmetic have it.
VALUES = {
    "2**20": 2**20,
    "8 / (1)": 8,
    "1e9": 10**9,
    "8192.0": 8192,
    "1e-3": Fraction(1, 1000),
    "-2**2 + 5": 1,
    "2**-1 * 4": 2,
    "2**3**2": 512,
    "7 // 2 - -1": 4,
    ".1 + 0.2": Fraction(3, 10),
    "max(3, 2 * 4)": 8,
    "ceil(5/2)": 3,
    "log2(x + 1)": 3,
    "1 if x else 2": 1,
    "(1 if 0 else 2) * x": 14,
    "(2 - 5) // 2": -2,
    "x * 2": 14,
    "1.05e9*128": 134400000000,
}
NO_VALUES = (
    *(
        "",
        "1 2",
        "(1",
        "1)",
        "2**10**9",
        "2**0.5",
        "1e400",
        "1/0",
        "y",
        "1 if y else 2",
        "log2(0)",
        "log2(x, 2)",
        "max()",
    ),
    *("9" * 19, "*".join("9" * 300), "(" * 99, "__import__('os')", "x.y", "1_0", "٣"),
    *("round(1, 9**9)", "max(*(1))", "True", "1, 2"),
)


def test_expressions_are_worth_what_arithmetic_says() -> None:
    names = {"x": Fraction(7)}.get
    assert {text: value_of(text, names) for text in VALUES} == VALUES
    assert {text for text in NO_VALUES if value_of(text, names) is not None} == set()


@given(
    st.lists(
        st.tuples(st.integers(1, 99), st.sampled_from(["+", "-", "*", "//", "**"])), min_size=1
    )
)
def test_expressions_are_worth_what_python_says(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{number % 4 + 1} {operator}" for number, operator in parts[:5]) + " 2"
    found = value_of(text)
    assert found is None or found == eval(text)
    assert found is not None or "**" in text


FILES = {
    "base.yaml": "base_ignore: &base\n  shape: {C: 1, K: [a]}\n  size: {{size}}\n",
    "near/layer.yaml": (
        "{{include_text('../base.yaml')}}\nproblem:\n  <<<: *base\n  shape: {C: 2, K: [b]}\n"
        "nodes: {{include('other.yaml', 'a.nodes', N=3)}}\n"
        "{% for i in range(2) %}\nx{{i}}: {{ i ~ 'y' if i > 0 else [i, 7] | max }}\n{% endfor %}\n"
    ),
    "near/other.yaml": "{% assert N < 4, 'too many' %}\na: {nodes: [1, {{N * 2}}]}\n",
    "near/itself.yaml": "{{include_text('itself.yaml')}}",
    "near/secret.txt": "a: 1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("a") / "b" / "c"
    for name, text in FILES.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (made / "near" / "link.yaml").symlink_to("secret.txt")
    return made


def test_templates_include_and_merge_what_is_near(folder: Path) -> None:
    path = folder / "near" / "layer.yaml"
    found = read_yaml_file(path, HardwareError, given={"size": 4}).value
    assert isinstance(found, dict)
    assert found["problem"] == {"shape": {"C": "2", "K": ["b", "a"]}, "size": "4"}
    assert (found["nodes"], found["x0"], found["x1"]) == (["1", "6"], "7", "1y")


REFUSED = {
    "{{ N }}": "'N' is undefined",
    "{{ 'a' * 10**9 }}": "* of something else than numbers",
    "{{ 2 ** 999 }}": "a power that is too large",
    "{{ 0x" + "F" * 99 + " // 3 }}": "a number that is too large",
    "{{ '%99999999d' % 1 }}": "% of something else",
    "{{ 'a'.center(10**9) }}": "is not safely callable",
    "{% for i in range(9**9) %}{% endfor %}": "than the limit",
    "{% for i in range(9**4) %}{% for j in range(9**4) %}{% endfor %}{% endfor %}": "the limit",
    "{% macro f(n) %}{{ f(n-1) if n }}{{ f(n-1) if n }}{% endmacro %}{{ f(99) }}": "than the limit",
    "{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}": "than the limit",
    "{% set x = 'a' %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}": "than the limit",
    "{{ " + "(" * 999 + " }}": "recursion",
    "{{ ''.__class__ }}": "unsafe",
    "{{ include_text.__globals__ }}": "unsafe",
    "{% include 'base.yaml' %}": "Include is not read here",
    "{{ include_text('/etc/passwd') }}": "cannot be included",
    "{{ include_text('secret.txt') }}": "cannot be included",
    "{{ include_text('link.yaml') }}": "cannot be included",
    "{{ include_text('itself.yaml') }}": "more than 8 files include each other",
    "{% for i in range(9999) %}{{ find_path('x.yaml') }}{% endfor %}": "than the limit",
    "{{ include('other.yaml', N=4) }}": "too many",
    "{{": "line 1: as a Jinja template: unexpected",
    "#" * 2**17 + "{{ 1 }}": "more than 131,072 characters",
}


@pytest.mark.parametrize(("text", "told"), REFUSED.items(), ids=range(len(REFUSED)))
def test_templates_that_ask_for_too_much_are_refused(folder: Path, text: str, told: str) -> None:
    path = folder / "near" / "asks.yaml"
    path.write_text(text)
    with pytest.raises(HardwareError, match=r"\.yaml") as caught:
        read_yaml_file(path, HardwareError)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["{% set B = 3 %}b: {{B}}", "b: 1 # {# B #}"])
def test_a_number_without_effect_is_refused(text: str) -> None:
    with pytest.raises(HardwareError, match="no 'B', or sets it itself"):
        read_yaml(text, "text", HardwareError, given={"B": 7})


def test_a_default_gives_way() -> None:
    text = "{% set B = B | default(3) %}{% if C is not defined %}{% set C = 4 %}{% endif %}"
    found = read_yaml(text + "[{{B}}, {{C}}]", "text", HardwareError, given={"B": 7, "C": 8})
    assert found.texts() == ["7", "8"]


def test_a_text_without_a_file_includes_nothing() -> None:
    with pytest.raises(HardwareError, match=r"'base\.yaml' cannot be included"):
        read_yaml("{{ include_text('base.yaml') }}", "text", HardwareError)


# Texts that grow with a number, whose aliases would make the work grow with its square.
GROWING: dict[str, Callable[[int], str]] = {
    "long lists": lambda n: (
        f"memories:\n- {{memory: a, keeps: &k [{'input, ' * n}]}}\n"
        + "".join(f"- {{memory: m{i}, keeps: *k}}\n" for i in range(n // 5))
    ),
    "merged blocks": lambda n: (
        "a: &a {" + ", ".join(f"k{i}: 1" for i in range(n)) + "}\nb:\n" + "- {<<: *a}\n" * n
    ),
    "merges of a block": lambda n: "a: &a {x: 1}\nb:\n" + "  <<: *a\n" * n,
    "deep merges": lambda n: (
        "b:\n  <<<:\n" + "".join(f"  - {{x: {{k{i}: [1]}}, y: [1]}}\n" for i in range(n))
    ),
    "templates": lambda n: "{% set x = [1] %}\n" * (n // 20) + "a: 1\n" + "# {{ x }}\n" * (n // 5),
    "rendered aliases": lambda n: (
        "a: &a [1]\nb: [{% for i in range(" + str(n) + ") %}*a,{% endfor %}]"
    ),
    "nodes of Timeloop": lambda n: (
        "variables: {x: 8}\narchitecture:\n  nodes:\n"
        + "  - !Container {name: a, attributes: {datawidth: x}, spatial: {meshX: x}}\n" * (n // 5)
    ),
    "nodes of AccelForge": lambda n: (
        "variables: {x: 8}\narch:\n  nodes:\n"
        + "  - !Memory {name: a, size: x, tensors: {keep: ~~~input | output}}\n" * (n // 5)
    ),
    "elements": lambda n: "memories:\n" + "".join(f"- {{memory: m{i}}}\n" for i in range(n)),
}


@pytest.mark.parametrize("kind", few(GROWING, 3))
def test_what_is_done_grows_with_the_text(tmp_path: Path, kind: str) -> None:
    def calls(size: int) -> int:
        path = tmp_path / "chip.yaml"
        path.write_text(GROWING[kind](size))
        count: Counter[str] = Counter()
        sys.setprofile(lambda frame, event, what: count.update((event,)))
        try:
            find_hierarchy(str(path))
        except HardwareError:
            pass
        finally:
            sys.setprofile(None)
        return count["call"] + count["c_call"]

    calls(10)  # What is imported once is not counted.
    assert calls(400) < 2.5 * calls(200)
