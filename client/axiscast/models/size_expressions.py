"""Expressions of sizes, such as exporters write: those that are equal are one, and have one name.

Sums of products are normalized exactly. Of `//` only what divides for certain is taken out; it, `%`, `Max` and all else
are parts that are equal where their own parts are.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial

from ..wire.shapes import MAX_SIZE

Product = tuple[str, ...]
"""Its factors, in order; none for the constant."""
Sum = dict[Product, int]
"""The coefficient of each product, none 0."""

_LETTERS = 300
"""Letters of an expression that is read; a longer one stands as it is."""
_TERMS = 40
"""Products of a sum: more are not multiplied out."""
_BITS = 200
"""Bits of a coefficient; sizes have 63."""
_EXPRESSION = re.compile(r"[\w\s+*/%(),-]*[\s+*/%()-][\w\s+*/%(),-]*")
_NUMBER_AND_LETTERS = re.compile(r"\b[0-9]+[^\W0-9]")
_WORDS = {"//": " div ", "**": " pow ", "+": " plus ", "-": " minus ", "*": " times ", "/": " over ", "%": " mod "}


class _Opaque(Exception):
    """Not a sum of products that is worth to be multiplied out."""


def canonical(text: str, sizes: Mapping[str, int] | None = None) -> int | str:
    """An expression in the one form that all that are equal to it have: an integer where `sizes` settle it. A text that
    is none, or a size that would be negative or huge, stays as it is.

    >>> canonical("(((H - 1)//2)) + 1"), canonical("1 + (-1 + H)//2"), canonical("(2*s0)//2")
    ('(H - 1)//2 + 1', '(H - 1)//2 + 1', 's0')
    >>> canonical("(((H - 1)//2)) + 1", {"H": 64})
    32
    """
    sizes = sizes or {}
    if text in sizes:
        return sizes[text]
    if len(text) > _LETTERS or not _EXPRESSION.fullmatch(text) or _NUMBER_AND_LETTERS.search(text):
        return text
    try:
        terms = _sum(ast.parse(text.strip(), mode="eval").body, sizes)
    except (SyntaxError, ValueError, RecursionError, _Opaque):
        return text
    if set(terms) <= {()}:
        size = terms.get((), 0)
        return size if 0 <= size <= MAX_SIZE else text
    return _text(terms)


def names_in(text: str) -> set[str]:
    """The names of the sizes that an expression is made of; a text that is no expression is a name itself."""
    if len(text) > _LETTERS or not _EXPRESSION.fullmatch(text):
        return {text}
    return set(re.findall(r"\b[^\W0-9]\w*\b(?!\()", text))


def as_name(text: str) -> str:
    """A name that a check takes, which says what the expression does: `H_minus_1_div_2_plus_1`."""
    words = text[:_LETTERS]
    if _EXPRESSION.fullmatch(words):
        for sign, word in _WORDS.items():
            words = words.replace(sign, word)
        words = "_".join(re.findall(r"\w+", words))
    name = re.sub(r"[^A-Za-z0-9_]", "_", words)[:80]
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def _sum(node: ast.expr, sizes: Mapping[str, int]) -> Sum:
    of = partial(_sum, sizes=sizes)
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return _without_zeros({(): value})
        case ast.Name(id=name):
            return _without_zeros({(): sizes[name]}) if name in sizes else {(name,): 1}
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _times(of(inner), {(): -1})
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _plus(of(left), of(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _plus(of(left), _times(of(right), {(): -1}))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _times(of(left), of(right))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if 0 <= power <= 8:
            result: Sum = {(): 1}
            for _ in range(power):
                result = _times(result, of(left))
            return result
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _floor(of(left), of(right))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            whole, divisor = of(left), of(right)
            if set(whole) | set(divisor) <= {()} and divisor:
                return _without_zeros({(): whole.get((), 0) % divisor[()]})
            return {(f"{_part(whole)}%{_part(divisor)}",): 1}
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return {(f"{_part(of(left))}/{_part(of(right))}",): 1}
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [of(argument) for argument in arguments])
    raise _Opaque


def _call(name: str, arguments: list[Sum]) -> Sum:
    texts = [_text(argument) for argument in arguments]
    if name in ("Max", "Min", "max", "min"):
        if arguments and all(set(argument) <= {()} for argument in arguments):
            values = [argument.get((), 0) for argument in arguments]
            return _without_zeros({(): max(values) if name in ("Max", "max") else min(values)})
        texts.sort()
    return {(f"{name}({', '.join(texts)})",): 1}


def _floor(whole: Sum, divisor: Sum) -> Sum:
    if set(divisor) != {()} or divisor[()] < 1:
        quotient = _exact(whole, divisor)
        return {(f"{_part(whole)}//{_part(divisor)}",): 1} if quotient is None else quotient
    by = divisor[()]
    quotient = {product: factor // by for product, factor in whole.items() if factor % by == 0 or not product}
    rest = {product: factor for product, factor in whole.items() if product not in quotient}
    if not rest:  # what is left of the constant is less than one
        return _without_zeros(quotient)
    # The constant keeps its place beside what does not divide: (H - 1)//2, not (H + 1)//2 - 1.
    constant = quotient.pop((), None)
    if constant is not None:
        rest[()] = whole[()]
    return _plus(quotient, {(f"{_part(rest)}//{by}",): 1})


def _exact(whole: Sum, divisor: Sum) -> Sum | None:
    """The quotient, where the divisor is one product and each product has its factors; else None."""
    if len(divisor) != 1:
        return None
    ((factors, by),) = divisor.items()
    quotient: Sum = {}
    for product, factor in whole.items():
        left = Counter(product)
        left.subtract(factors)
        if factor % by or min(left.values()) < 0:
            return None
        quotient[tuple(sorted(left.elements()))] = factor // by
    return quotient


def _plus(one: Sum, other: Sum) -> Sum:
    return _without_zeros({product: one.get(product, 0) + other.get(product, 0) for product in (*one, *other)})


def _times(one: Sum, other: Sum) -> Sum:
    if len(one) * len(other) > _TERMS:
        raise _Opaque
    result: Sum = {}
    for product, factor in one.items():
        for second, by in other.items():
            both = tuple(sorted(product + second))
            if len(both) > _TERMS:
                raise _Opaque
            result[both] = result.get(both, 0) + factor * by
            if result[both].bit_length() > _BITS:
                raise _Opaque
    return _without_zeros(result)


def _without_zeros(terms: Sum) -> Sum:
    return {product: factor for product, factor in terms.items() if factor}


def _text(terms: Sum) -> str:
    """A sum as it is written: the longest products first, the constant last."""
    written = ""
    for product, factor in sorted(terms.items(), key=lambda term: (-len(term[0]), term[0])):
        sign = (" - " if factor < 0 else " + ") if written else "-" if factor < 0 else ""
        shown = [str(abs(factor))] if abs(factor) != 1 or not product else []
        factors = [*shown, *product]
        alone = factors == [*product[:1]] and sign != "-"
        written += sign + (factors[0] if alone else "*".join(map(_enclosed, factors)))
    return written or "0"


def _part(terms: Sum) -> str:
    """A sum as a part of an expression: in parentheses, unless it is one name or number."""
    return _enclosed(_text(terms))


def _enclosed(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"
