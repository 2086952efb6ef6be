"""Numbers as people write them in files, such as ``2**20``, ``8 * 1.5e9`` or ``1 / (1)``: exactly.

Texts, numbers and exponents are bounded, so that no text takes long.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction

Names = Callable[[str], Fraction | None]
"""What a name stands for; None for an unknown one."""

_LONGEST = 400
_DEEPEST = 20
_MOST_BITS = 4096
_DECIMAL = r"(?:[0-9]{1,18}(?:\.[0-9]{0,25})?|\.[0-9]{1,25})(?:[eE][+-]?[0-9]{1,2})?(?![\w.])"
_TOKEN = re.compile(rf"\s*({_DECIMAL}|[^\W\d][\w.]*|\*\*|//|[-+*/(),])\s*", re.ASCII)
_END = ""


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or bits * abs(exponent) > _MOST_BITS:
        raise ValueError("too large, or no exact number")
    return Fraction(base**exponent)


_Operator = Callable[[Fraction, Fraction], Fraction]
# How tightly each binds; a sign binds more than products and less than powers.
_OPERATORS: dict[str, tuple[int, _Operator]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, lambda left, right: Fraction(left // right)),
    "**": (4, _power),
}
_SIGN = 3
_FUNCTIONS: dict[str, Callable[..., Fraction | int]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "round": round,
}


def no_names(name: str) -> None:
    """Know no name."""


def value_of(text: str, names: Names = no_names) -> Fraction | None:
    """Return what an expression comes to, None for any other text."""
    if len(text) > _LONGEST or _TOKEN.sub("", text):
        return None
    reader = _Expression(text, names)
    try:
        value = reader.sum(1)
        return value if reader.ended else None
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


class _Expression:
    """Reads an expression, token by token; raises ``ValueError`` where it is none."""

    def __init__(self, text: str, names: Names) -> None:
        self._tokens: list[str] = [_END, *reversed(_TOKEN.findall(text))]
        self._names, self._depth = names, 0

    @property
    def ended(self) -> bool:
        return not self._tokens[-1]

    def sum(self, level: int) -> Fraction:
        """Read operands and operators that bind at least as tightly as a level."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("too deep")
        left = self._operand()
        while (found := _OPERATORS.get(self._tokens[-1])) and found[0] >= level:
            # Powers begin from the right.
            right_level = found[0] + (self._tokens.pop() != "**")
            left = found[1](left, self.sum(right_level))
            if max(left.numerator.bit_length(), left.denominator.bit_length()) > _MOST_BITS:
                raise ValueError("too large")
        self._depth -= 1
        return left

    def _operand(self) -> Fraction:
        token = self._tokens.pop()
        if token in ("+", "-"):
            value = self.sum(_SIGN)
            return -value if token == "-" else value
        if token == "(":
            return self._until_closed()[0]
        if token[:1].isdigit() or token[:1] == ".":
            return Fraction(token)
        if token in _FUNCTIONS and self._tokens[-1] == "(":
            self._tokens.pop()
            return Fraction(_FUNCTIONS[token](*self._until_closed(many=True)))
        if (named := self._names(token)) is None:
            raise ValueError(f"unknown name {token}")
        return named

    def _until_closed(self, many: bool = False) -> list[Fraction]:
        values = [self.sum(1)]
        while many and self._tokens[-1] == ",":
            self._tokens.pop()
            values.append(self.sum(1))
        if self._tokens.pop() != ")":
            raise ValueError("not closed")
        return values
