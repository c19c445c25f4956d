"""Tests of shapes as text, in a table that the page must also read (static/test_form.py)."""

from __future__ import annotations

import pytest
from cases import cases

from axiscast.wire.shapes import MAX_SHAPE_CHARACTERS, parse_shape

SHAPES: dict[str, list[int | str] | None] = {
    "": [],
    "()": [],
    " [ ] ": [],
    "torch.Size([])": [],
    "8": [8],
    "(3,)": [3],
    "8,1,6,1": [8, 1, 6, 1],
    " 8 , 1,": [8, 1],
    "(8, 1)": [8, 1],
    "[8, 1]": [8, 1],
    "([8, 1])": [8, 1],
    "8x1x6x1": [8, 1, 6, 1],
    "8 x 1": [8, 1],
    "8x1,6": [8, 1, 6],
    "8\u00d71": [8, 1],
    "8 \u00d7 1 \u00d7 N": [8, 1, "N"],
    "N\u00d7?": ["N", "?"],
    "N x 1": ["N", 1],
    "8 1 6 1": [8, 1, 6, 1],
    "[8 1 6 1]": [8, 1, 6, 1],
    "8\t1\n": [8, 1],
    "8\u00a0\u00d7\u00a01": [8, 1],
    "2,-1": [2, -1],
    "2 -1": [2, -1],
    "2x-1": [2, -1],
    "torch.Size([8, 1])": [8, 1],
    "TensorShape([None, 28, 28])": ["?", 28, 28],
    "(None, 224, 224, 3)": ["?", 224, 224, 3],
    "tensor.shape: (8, 1)": [8, 1],
    "x.shape = torch.Size([8, 1])": [8, 1],
    "shape=(8, 1)": [8, 1],
    "f32[8,1]": [8, 1],
    "8,N,?,2..4": [8, "N", "?", "2..4"],
    "N M 1": ["N", "M", 1],
    "1..8 x 2..": ["1..8", "2.."],
    "None": ["?"],
    "[null, 4]": ["?", 4],
    "nullx4": ["nullx4"],
    "Nx1": ["Nx1"],  # a name
    "N1x3": ["N1x3"],  # this too
    "8x1 N1x3 2x3": [8, 1, "N1x3", 2, 3],
    "2 N,": [2, "N"],
    "2..4x3": ["2..4", 3],
    "0" * 18 + "7": [7],
    "9223372036854775808": [9223372036854775808],  # refused as a size, not as a text
    ",": None,
    "3,,1": None,
    "3,a!": None,
    "8, 1 6": None,  # 1 and 6, or 16?
    "(8, 1": None,
    "(8, 1]": None,
    "(8, 1), (3,)": None,
    "(((8)))": None,
    "x.shape:": None,
    "x.shape: 8": None,
    "N=2": None,  # no shape: what is known of N
    "8xN": None,
    "1.5": None,
    "8-1": None,
    "8**1": None,
    "٣": None,
    "1" * 20: None,
    "(" * MAX_SHAPE_CHARACTERS: None,
    " " * (MAX_SHAPE_CHARACTERS + 1): None,
}
"""Texts with the sizes that they describe, or None."""


@cases(("text", "sizes"), SHAPES.items(), ids=[ascii(text)[:30] for text in SHAPES])
def test_a_pasted_shape_is_accepted(text: str, sizes: list[int | str] | None) -> None:
    if sizes is None:
        with pytest.raises(ValueError, match=r"write a shape as|at most 2000 characters"):
            parse_shape(text)
    else:
        assert parse_shape(text) == sizes
