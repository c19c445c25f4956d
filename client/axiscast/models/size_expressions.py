"""Functions that convert size expressions from exporters into a canonical form, which equal expressions share.

Sums of products are normalized exactly. A floor division is simplified if the division is exact for all sizes. Any
other operation is treated as an atom. Two atoms are equal if their canonical texts are equal.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial

from ..wire.shapes import MAX_SIZE

Product = tuple[str, ...]
"""The sorted factors of a product. The tuple is empty for the constant term of a sum."""
SumOfProducts = dict[Product, int]
"""The coefficients of a sum, keyed by product. Coefficients are never 0."""

_MAX_LETTERS = 300
"""The maximum length, in characters, of an expression that the parser accepts. Longer expressions stay unchanged."""
_MAX_TERMS = 40
"""The maximum number of products in a sum, and the maximum number of factors in a product."""
_MAX_BITS = 200
"""The maximum size of a coefficient in a sum, in bits."""
_EXPRESSION = re.compile(r"[\w\s+*/%(),-]*[\s+*/%()-][\w\s+*/%(),-]*")
_NUMBER_AND_LETTERS = re.compile(r"\b[0-9]+[^\W0-9]")
_WORDS = {"//": " div ", "**": " pow ", "+": " plus ", "-": " minus ", "*": " times ", "/": " over ", "%": " mod "}


class _TooComplex(Exception):
    """The exception for an expression that has an unknown form or too many terms."""


def canonical(text: str, sizes: Mapping[str, int] | None = None) -> int | str:
    """Return the canonical form of an expression, or an integer if `sizes` contains all names in the expression.

    If the string is not an expression, it is returned unchanged. An expression with a negative or huge value is also
    returned unchanged.

    >>> canonical("(((H - 1)//2)) + 1"), canonical("1 + (-1 + H)//2"), canonical("(2*s0)//2")
    ('(H - 1)//2 + 1', '(H - 1)//2 + 1', 's0')
    >>> canonical("(((H - 1)//2)) + 1", {"H": 64})
    32
    """
    sizes = sizes or {}
    if text in sizes:
        return sizes[text]
    if len(text) > _MAX_LETTERS or not _EXPRESSION.fullmatch(text) or _NUMBER_AND_LETTERS.search(text):
        return text
    try:
        terms = _sum(ast.parse(text.strip(), mode="eval").body, sizes)
    except (SyntaxError, ValueError, RecursionError, _TooComplex):
        return text
    if set(terms) <= {()}:
        size = terms.get((), 0)
        return size if 0 <= size <= MAX_SIZE else text
    return _text(terms)


def names_in(text: str) -> set[str]:
    """Return the names in an expression. If the string is not an expression, the whole string counts as one name."""
    if len(text) > _MAX_LETTERS or not _EXPRESSION.fullmatch(text):
        return {text}
    return set(re.findall(r"\b[^\W0-9]\w*\b(?!\()", text))


def as_name(text: str) -> str:
    """Return an identifier that describes an expression, such as H_minus_1_div_2_plus_1."""
    words = text[:_MAX_LETTERS]
    if _EXPRESSION.fullmatch(words):
        for sign, word in _WORDS.items():
            words = words.replace(sign, word)
        words = "_".join(re.findall(r"\w+", words))
    name = re.sub(r"[^A-Za-z0-9_]", "_", words)[:80]
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def _sum(node: ast.expr, sizes: Mapping[str, int]) -> SumOfProducts:
    """Convert a parsed expression to a sum of products."""
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
            result: SumOfProducts = {(): 1}
            for _ in range(power):
                result = _times(result, of(left))
            return result
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _floor_divide(of(left), of(right))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            whole, divisor = of(left), of(right)
            if set(whole) | set(divisor) <= {()} and divisor:
                return _without_zeros({(): whole.get((), 0) % divisor[()]})
            return {(f"{_atom(whole)}%{_atom(divisor)}",): 1}
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return {(f"{_atom(of(left))}/{_atom(of(right))}",): 1}
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, [of(argument) for argument in arguments])
    raise _TooComplex


def _call(name: str, arguments: list[SumOfProducts]) -> SumOfProducts:
    """Return a SumOfProducts with one term, the function call. A minimum or maximum of numbers is evaluated."""
    texts = [_text(argument) for argument in arguments]
    if name in ("Max", "Min", "max", "min"):
        if arguments and all(set(argument) <= {()} for argument in arguments):
            values = [argument.get((), 0) for argument in arguments]
            return _without_zeros({(): max(values) if name in ("Max", "max") else min(values)})
        texts.sort()
    return {(f"{name}({', '.join(texts)})",): 1}


def _floor_divide(whole: SumOfProducts, divisor: SumOfProducts) -> SumOfProducts:
    """Return the SumOfProducts of a floor division. Terms that are multiples of the divisor are divided exactly."""
    if set(divisor) != {()} or divisor[()] < 1:
        quotient = _exact_quotient(whole, divisor)
        return {(f"{_atom(whole)}//{_atom(divisor)}",): 1} if quotient is None else quotient
    by = divisor[()]
    quotient = {product: factor // by for product, factor in whole.items() if factor % by == 0 or not product}
    rest = {product: factor for product, factor in whole.items() if product not in quotient}
    if not rest:  # rounds the constant term's quotient down
        return _without_zeros(quotient)
    # The constant stays with the terms that can't be divided, so the result is (H - 1)//2 and not (H + 1)//2 - 1.
    constant = quotient.pop((), None)
    if constant is not None:
        rest[()] = whole[()]
    return _plus(quotient, {(f"{_atom(rest)}//{by}",): 1})


def _exact_quotient(whole: SumOfProducts, divisor: SumOfProducts) -> SumOfProducts | None:
    """Return the exact quotient, or None if a term is not a multiple of the divisor.

    If the divisor is not a single product, also return None.
    """
    if len(divisor) != 1:
        return None
    ((factors, by),) = divisor.items()
    quotient: SumOfProducts = {}
    for product, factor in whole.items():
        left = Counter(product)
        left.subtract(factors)
        if factor % by or min(left.values()) < 0:
            return None
        quotient[tuple(sorted(left.elements()))] = factor // by
    return quotient


def _plus(one: SumOfProducts, other: SumOfProducts) -> SumOfProducts:
    return _without_zeros({product: one.get(product, 0) + other.get(product, 0) for product in (*one, *other)})


def _times(one: SumOfProducts, other: SumOfProducts) -> SumOfProducts:
    if len(one) * len(other) > _MAX_TERMS:
        raise _TooComplex
    result: SumOfProducts = {}
    for product, factor in one.items():
        for second, by in other.items():
            both = tuple(sorted(product + second))
            if len(both) > _MAX_TERMS:
                raise _TooComplex
            result[both] = result.get(both, 0) + factor * by
            if result[both].bit_length() > _MAX_BITS:
                raise _TooComplex
    return _without_zeros(result)


def _without_zeros(terms: SumOfProducts) -> SumOfProducts:
    return {product: factor for product, factor in terms.items() if factor}


def _text(terms: SumOfProducts) -> str:
    """Return a sum of products as text. The longest product comes first, and the constant comes last."""
    written = ""
    for product, coefficient in sorted(terms.items(), key=lambda term: (-len(term[0]), term[0])):
        if written:
            written += " - " if coefficient < 0 else " + "
        elif coefficient < 0:
            written = "-"
        factors = [*product]
        if abs(coefficient) != 1 or not product:
            factors.insert(0, str(abs(coefficient)))
        is_plain = len(factors) == 1 and product and written != "-"  # no parentheses are needed
        written += factors[0] if is_plain else "*".join(map(_enclosed, factors))
    return written or "0"


def _atom(terms: SumOfProducts) -> str:
    """Return a sum of products as the text of an operand. Anything but a name or integer is in parentheses."""
    return _enclosed(_text(terms))


def _enclosed(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"
