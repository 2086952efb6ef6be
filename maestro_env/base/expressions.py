"""Numbers as people write them in files, such as ``2**20``, ``8 * 1.5e9`` or ``1 / (1)``: exactly.

Texts, numbers and exponents are bounded, so that no text takes long.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction

Names = Callable[[str], Fraction | None]
"""What a name, or a call of a function, stands for; None for an unknown one."""

_LONGEST = 400
_MOST_BITS = 4096
_DECIMAL = r"(?:[0-9]{1,18}(?:\.[0-9]{0,25})?|\.[0-9]{1,25})(?:[eE][+-]?[0-9]{1,2})?(?![\w.])"
_TOKEN = re.compile(rf"{_DECIMAL}|[^\W\d][\w.]*|[-+*/(),\s]", re.ASCII)
_LEADING_ZEROS = re.compile(r"(?<![\w.])0+(?=[0-9])")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or bits * abs(exponent) > _MOST_BITS:
        raise ValueError("too large, or no exact number")
    return Fraction(base**exponent)


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Pow: _power,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Fraction], Fraction]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., Fraction | int]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    # Of one number: to digits that could be any it takes without end.
    "round": lambda number: round(number),
    "log2": lambda number: Fraction(math.log2(number)),
}


def no_names(name: str) -> None:
    """Know no name."""


def value_of(text: str, names: Names = no_names) -> Fraction | None:
    """Return what an expression comes to, None for any other text."""
    if len(text) > _LONGEST or _TOKEN.sub("", text):
        return None
    text = _LEADING_ZEROS.sub("", " ".join(text.split()))
    try:
        return _value(ast.parse(text, mode="eval").body, text, names)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    except (MemoryError, RecursionError, SyntaxError):  # Too deep, or no expression.
        return None


def _value(node: ast.expr, text: str, names: Names) -> Fraction:
    """Return the value of a part of a text; raise an error where it has none."""
    match node:
        case ast.Constant():
            # As it is written: Python has rounded it.
            return Fraction(text[node.col_offset : node.end_col_offset])
        case ast.Name() | ast.Attribute():
            if (named := names(ast.unparse(node))) is None:
                raise ValueError("an unknown name")
            return named
        case ast.UnaryOp():
            return _SIGNS[type(node.op)](_value(node.operand, text, names))
        case ast.BinOp():
            left, right = (_value(each, text, names) for each in (node.left, node.right))
            value = _OPERATORS[type(node.op)](left, right)
            if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
                raise ValueError("too large")
            return value
        case ast.Call() if (called := names(ast.unparse(node))) is not None:
            return called
        case ast.IfExp():
            chosen = node.body if _value(node.test, text, names) else node.orelse
            return _value(chosen, text, names)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return Fraction(_FUNCTIONS[name](*(_value(each, text, names) for each in arguments)))
    raise ValueError("no number")
