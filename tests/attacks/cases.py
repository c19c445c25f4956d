"""The list of all attacks."""

from __future__ import annotations

from attacks.attack import Attack
from attacks.body_cases import packed, semantics, tensors, texts
from attacks.connection_cases import framing, heads, media, timing

ATTACKS: list[Attack] = [
    attack for kind in (heads, framing, media, packed, texts, tensors, semantics, timing) for attack in kind()
]
