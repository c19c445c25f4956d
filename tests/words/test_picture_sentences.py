"""The table of sentences below a drawing."""

from __future__ import annotations

from typing import Any

from cases import cases

from axiscast.drawing.pictures import drawing_of
from axiscast.drawing.summary import summary_of

DRAWINGS: list[tuple[dict[str, Any], list[list[int | str]], str]] = [
    ({"name": "numpy.add"}, [[3, 1], [4]], "a is copied along axis 1 and b along axis 0."),
    ({"name": "numpy.add"}, [[8, 1, 6, 1], [7, 1, 5]], "a is copied along axes 1 and 3 and b along axes 0 and 2."),
    ({"name": "numpy.add"}, [[3], [3]], "Nothing is copied."),
    ({"name": "numpy.broadcast_arrays"}, [[3]], "a is not copied."),
    ({"name": "numpy.add"}, [[0, 1], [3]], "An axis of size 0 has no elements, so nothing is copied."),
    ({"name": "numpy.add"}, [[1, "M"], ["N", 3]], "a is copied along axis 0. a is copied along axis 1 if M == 1."),
    ({"name": "numpy.add"}, [["?"], [5]], "a is copied along axis 0 if its size is 1."),
    ({"name": "numpy.tile", "reps": [2, 3]}, [[2, 3]],
     "a is repeated 2 times along axis 0 and 3 times along axis 1."),
    ({"name": "einops.repeat", "pattern": "h w -> (h w)"}, [[2, 3]], "a is not repeated."),
    ({"name": "torch.add"}, [[2, 64, 7, 7], [64]], "Axis 3 of a meets axis 0 of b."),
    ({"name": "numpy.broadcast_to", "shape": [4]}, [[3]], "Axis 0 of a meets axis 0 of target."),
    ({"name": "numpy.matmul"}, [[5, 2, 3], [3, 4]],
     "b is copied along axis 0. The product is summed over axis 2 of a and axis 0 of b."),
    ({"name": "numpy.einsum", "equation": "i,j->ij"}, [[2], [3]], "Nothing is summed."),
]  # fmt: skip


@cases(("op", "inputs", "sentences"), DRAWINGS)
def test_a_drawing_has_its_sentences(op: dict[str, Any], inputs: list[list[int | str]], sentences: str) -> None:
    drawing = drawing_of({"op": op, "inputs": inputs})
    assert drawing is not None
    assert summary_of(drawing) == sentences
