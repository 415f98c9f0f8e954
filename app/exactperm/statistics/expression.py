"""Expressions, parsed by recursive descent into a `formula` tree; nothing is evaluated.

sum = term {("+" | "-") term}; term = factor {("*" | "/") factor}; factor = {"+" | "-"} atom;
atom = number | name | "(" sum ")" | function "(" sum {"," sum} ")".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from ..errors import InvalidTest
from . import formula
from .formula import FUNCTIONS, FunctionName, Linear, Node
from .quantity import require_small

POINTER = "/statistic/expression"
MAX_CHARS = 2000
MAX_DEPTH = 40
MAX_TOKENS = 400
MAX_NUMBER_CHARS = 100
MAX_EXPONENT = 300
_SHORT = 100
_NAMES_SHOWN = 20
_NAME_CHARS_SHOWN = 40

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<symbol>[-+*/(),]))",
    re.ASCII,
)
_SEVERAL = frozenset({"min", "max"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression; `position` counts characters from 1."""

    kind: str
    text: str
    position: int


def parse(text: str, names: Sequence[str]) -> Node:
    """Parse an expression over `names`, x_i standing for names[i].

    Raises InvalidTest at /statistic/expression, with the position of the error.
    """
    if len(text) > MAX_CHARS:
        _refuse("expression_too_long", f"An expression has at most {MAX_CHARS:,} characters.")
    if len(text) <= _SHORT and len(names) == 1:
        return _parsed_short(text, names[0])
    return _parsed(text, names)


def _parsed(text: str, names: Sequence[str]) -> Node:
    return _Parser(_tokens(text), {name: index for index, name in enumerate(names)}).parsed()


@lru_cache(maxsize=_SHORT)
def _parsed_short(text: str, name: str) -> Node:
    """Parse a short expression; those of one sum, such as S and |S|, recur and are cached."""
    return _parsed(text, [name])


def _refuse(code: str, detail: str) -> NoReturn:
    raise InvalidTest.at(POINTER, code, detail)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        start = at + len(text[at:]) - len(text[at:].lstrip()) + 1
        if match is None:
            _refuse(
                "syntax_error",
                f"Character {start} of the expression is not understood; it takes numbers, names, "
                f"+ - * / ( ) , and the functions {', '.join(FUNCTIONS)}.",
            )
        kind = str(match.lastgroup)
        tokens.append(Token(kind, match[kind], match.start(kind) + 1))
        at = match.end()
        if len(tokens) > MAX_TOKENS:
            _refuse(
                "expression_too_long", f"An expression has at most {MAX_TOKENS} numbers, names and signs."
            )
    return [*tokens, Token("end", "", len(text) + 1)]


class _Parser:
    """Parser of an expression, token by token."""

    def __init__(self, tokens: list[Token], names: Mapping[str, int]) -> None:
        self.tokens = tokens
        self.names = names
        self.units = [1] * len(names)
        self.next = 0
        self.depth = 0

    def parsed(self) -> Node:
        tree = self._sum()
        if self._peek().kind != "end":
            self._unexpected("an operator or the end")
        return tree

    def _peek(self) -> Token:
        return self.tokens[self.next]

    def _take(self, *symbols: str) -> str | None:
        """Consume the next token if it is one of the symbols, and return its text."""
        token = self._peek()
        if token.kind != "symbol" or token.text not in symbols:
            return None
        self.next += 1
        return token.text

    def _unexpected(self, wanted: str) -> NoReturn:
        token = self._peek()
        where = (
            "The expression ends too early"
            if token.kind == "end"
            else f"At character {token.position} of the expression"
        )
        _refuse("syntax_error", f"{where}: expected {wanted}.")

    def _sum(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _refuse("expression_too_deep", f"Parentheses may be nested {MAX_DEPTH} deep at most.")
        parts = [self._term()]
        while sign := self._take("+", "-"):
            term = self._term()
            parts.append(term if sign == "+" else formula.scale(term, Fraction(-1)))
        self.depth -= 1
        return parts[0] if len(parts) == 1 else formula.add(*parts)

    def _term(self) -> Node:
        tree = self._factor()
        while sign := self._take("*", "/"):
            other = self._factor()
            tree = formula.multiply(tree, other) if sign == "*" else formula.divide(tree, other)
            if _long(other):  # constants must stay small enough to fold quickly
                require_small(tree, self.units, POINTER)
        return tree

    def _factor(self) -> Node:
        sign = 1
        while taken := self._take("+", "-"):
            sign = -sign if taken == "-" else sign
        atom = self._atom()
        return atom if sign == 1 else formula.scale(atom, Fraction(-1))

    def _atom(self) -> Node:
        token = self._peek()
        if self._take("("):
            inner = self._sum()
            self._close()
            return inner
        if token.kind not in {"number", "name"}:
            self._unexpected("a number, a name or a parenthesis")
        self.next += 1
        if token.kind == "number":
            return formula.number(_number(token))
        if self._take("("):
            return self._call(token)
        if token.text not in self.names:
            _refuse("unknown_name", f"Character {token.position} of the expression: {self._known()}.")
        return formula.variable(self.names[token.text])

    def _call(self, token: Token) -> Node:
        function = _function(token)
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        if (len(arguments) > 1) != (function in _SEVERAL):
            takes = "two or more arguments" if function in _SEVERAL else "one argument"
            _refuse(
                "wrong_arguments", f"Character {token.position} of the expression: {function} takes {takes}."
            )
        return formula.call(function, arguments)

    def _close(self) -> None:
        if not self._take(")"):
            self._unexpected("a closing parenthesis")

    def _known(self) -> str:
        shown = [name[:_NAME_CHARS_SHOWN] for name in list(self.names)[:_NAMES_SHOWN]]
        more = f" and {len(self.names) - _NAMES_SHOWN} more" if len(self.names) > _NAMES_SHOWN else ""
        return f"unknown name; the names are {', '.join(shown)}{more}"


def _function(token: Token) -> FunctionName:
    for name in FUNCTIONS:
        if token.text == name:
            return name
    _refuse(
        "unknown_function",
        f"Character {token.position} of the expression: the functions are {', '.join(FUNCTIONS)}.",
    )


def _long(node: Node) -> bool:
    """Return whether constants of a linear form are longer than machine integers."""
    if not isinstance(node, Linear):
        return False
    return max(map(abs, (node.constant, node.divisor, *(c for _, c in node.terms)))) >= 1 << 64


def _number(token: Token) -> Fraction:
    exponent = token.text.lower().partition("e")[2] or "0"
    if len(token.text) > MAX_NUMBER_CHARS or abs(int(exponent)) > MAX_EXPONENT:
        _refuse("number_too_large", f"Character {token.position} of the expression: that number is too long.")
    return Fraction(token.text)
