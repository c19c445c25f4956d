"""The fixes and the commands that an explanation prints, applied to the program that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RESHAPED = re.compile(
    r"(?:[Rr]eshape|[Tt]ranspose|[Ss]wap axes \d and \d of) (\S.*?)(?: to \([\d, ]*\))?, "
    r"((?:tf\.linalg\.matrix_transpose)?\(?\1\)?.*?)(?=\.(?: [A-Z]|$))"
)
_WRITTEN = re.compile(r"(?:[Ww]rite|for example) `([^`]+)`(?: instead of `([^`]+)`)?")
_ARGUMENT = re.compile(r"(?:write|with) ([a-z_]+)=(\d+)")
_BUILT = re.compile(r"built for (?:[a-z_]+=)?\(?(\d+)")
_COMMAND = re.compile(r"`(axiscast check [^`]+)`")


def commands(message: str) -> list[str]:
    """Return the commands that a message prints."""
    return _COMMAND.findall(message)


def fixed_programs(code: str, message: str) -> Iterator[tuple[str, bool]]:
    """Yield the program after each printed fix that can be applied, and whether the fix has a condition.

    The sentence of a fix with a condition begins with If, For or To.
    """
    for sentence in re.split(r"(?<=[.:]) (?=[A-Z])(?!Also)", message):
        is_conditional = bool(re.match(r"(?:If|For|To) |Its two sizes", sentence))
        for program in _of_sentence(code, sentence if "`" in sentence or not _ARGUMENT.search(sentence) else message):
            yield program, is_conditional


def _of_sentence(code: str, message: str) -> Iterator[str]:
    changes = [(old, new) for old, new in _RESHAPED.findall(message) if not old.startswith("input ")]
    if changes:
        text = code
        for old, new in changes:
            text = _replaced(text, old, new)
        if text != code:
            yield text
    for new, old in _WRITTEN.findall(message):
        if (text := _written(code, new, old)) is not None:
            yield text
    for name, value in _ARGUMENT.findall(message):
        built = _BUILT.search(message)
        if built is not None:
            yield _argument(code, name, value, built[1])
        elif name in ("axis", "dim"):
            yield re.sub(r"((?:concatenate|cat)\(\[.*?\])\)", rf"\1, {name}={value})", code)


def _replaced(code: str, old: str, new: str) -> str:
    lines = code.splitlines()
    for number in reversed(range(len(lines))):
        if old in lines[number] and not lines[number].startswith(("import", "from", "def")):
            pattern = rf"(?<![\w.]){re.escape(old)}(?![\w\[(])" if old.isidentifier() else re.escape(old)
            start, mark, rest = (
                lines[number].rpartition("= ") if re.match(r"\s*[\w.]+ = ", lines[number]) else ("", "", lines[number])
            )
            changed = re.sub(pattern, lambda _: new, rest)
            if changed != rest:
                lines[number] = f"{start}{mark}{changed}"
                break
    return "\n".join(lines)


def _written(code: str, new: str, old: str) -> str | None:
    """Return the program with a printed expression or statement, or None if it names nothing of the program."""
    if old:
        return re.sub(rf"\b{re.escape(old)}\b", new, code) if old in code else None
    if re.fullmatch(r"[\w.]+ = .+", new):
        name = new.partition(" = ")[0]
        lines = code.splitlines()
        for number in reversed(range(len(lines))):
            if re.match(rf"\s*{re.escape(name)} \W?=", lines[number]):
                indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
                return "\n".join([*lines[:number], f"{indent}{new}", *lines[number + 1 :]])
        return None
    longest = max((new[:end] for end in range(len(new)) if new[:end] in code), key=len)
    if longest.endswith(")") and not longest.startswith("("):
        return code.replace(longest, new)
    base = re.match(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*(?![\w(]))*", new)
    if base is None or new == base[0] or not re.search(rf"\b{re.escape(base[0])}\b", code):
        return None
    inner = re.search(rf"(?<![\w.]){re.escape(base[0])}\[[\w, ]+\]", code)
    if inner is not None and new.endswith("]") and new[len(base[0])] == "[":
        return code.replace(inner[0], new)
    whole = re.search(rf"(?<![\w.]){re.escape(base[0])} - \S.*", code)
    if whole is not None and ".sub(" in new:
        return code.replace(whole[0], new)
    return _replaced(code, base[0], new)


def _argument(code: str, name: str, value: str, built: str) -> str:
    """Return the program in which a layer is built with another argument."""
    return re.sub(rf"([A-Z]\w+\([^()]*?(?:{name}=)?)\b{built}\b", rf"\g<1>{value}", code)
