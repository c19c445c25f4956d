"""StableHLO: broadcast_in_dim, to which XLA lowers every broadcast. It can express every placement in a plan."""

import re
from collections.abc import Sequence

from pydantic import Field

from ..plan.alignment import Alignment, Input, align_mapped, check_entries, check_mapping, check_sizes
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import Integers
from .base import Op
from .framework import MLIR, Framework, NamedSize

_STEP = re.compile(
    r"(%\w+) = stablehlo\.(reshape|broadcast_in_dim) (%\w+)(, dims = \[[\d, ]*\])? : \((.*?)\) -> tensor<(.*)xf32>"
)


def _sized(code: str, sizes: Sequence[NamedSize]) -> str:
    """Return code with the dynamic form of each step. Its operand is the output shape, from get_dimension_size."""
    kinds = {match[3]: match[5] for match in _STEP.finditer(code)}
    named = {str(size.number): size for size in sizes if f"%{size.tensor}" in kinds}
    read: dict[str, None] = {}

    def dynamic(match: re.Match[str]) -> str:
        result, op, operand, dims, kind, shape = match.groups("")
        axes = shape.split("x")
        if named.keys().isdisjoint(axes):
            return match[0]
        lines, parts = [], []
        for axis, text in enumerate(axes):
            if (size := named.get(text)) is None:
                parts.append(f"{result}_{axis}")
                lines.append(f"{parts[-1]} = stablehlo.constant dense<{text}> : tensor<1xi32>")
                continue
            parts.append(f"%{size.name}_size")
            scalar = f"%{size.name}_scalar"
            opening = f"{scalar} = stablehlo.get_dimension_size %{size.tensor}, dim = {size.axis}"
            read[f"{opening} : ({kinds[f'%{size.tensor}']}) -> tensor<i32>"] = None
            read[f"{parts[-1]} = stablehlo.reshape {scalar} : (tensor<i32>) -> tensor<1xi32>"] = None
        joined, whole = ", ".join(parts), f"tensor<{len(axes)}xi32>"
        ones = ", ".join(["tensor<1xi32>"] * len(axes))
        lines.append(f"{result}_shape = stablehlo.concatenate {joined}, dim = 0 : ({ones}) -> {whole}")
        step = f"stablehlo.dynamic_{op} {operand}, {result}_shape{dims} : ({kind}, {whole}) -> tensor<{shape}xf32>"
        return "\n".join([*lines, f"{result} = {step}"])

    body = _STEP.sub(dynamic, code)
    start = body.index("\n%") + 1
    body = "\n".join([body[:start].rstrip("\n"), "", *read, body[start:]])
    for number in named:
        body = re.sub(rf"(?<=[<x]){number}(?=x)", "?", body)
    return body


FRAMEWORK = Framework(
    order=100,
    reference=("jaxlib", "0.10.2"),
    language=MLIR,
    preamble="// f32 stands for the type of your elements\n",
    reshape="%{y} = stablehlo.reshape %{x} : ({x_shape}) -> {y_shape}",
    size=_sized,
    executed="jaxlib 0.10.2",
)


class broadcast_in_dim(Op, name="stablehlo.broadcast_in_dim"):
    """Map operand axis `i` to output axis `broadcast_dimensions[i]`, in any order. Size 1 expands."""

    named_axes = {"broadcast_dimensions": None}
    target = "shape"
    plan_fields = {"shape": "output_shape", "broadcast_dimensions": "output_axes"}
    link = "https://openxla.org/stablehlo/spec#broadcast_in_dim"
    snippets = ("%{y} = stablehlo.broadcast_in_dim %{x}, dims = {broadcast_dimensions} : ({x_shape}) -> {y_shape}",)
    example_shapes = ((1, 3),)
    shape: Dimensions = Field(description="The shape of the output.", examples=[[2, 3, 2]])
    broadcast_dimensions: Integers = Field(
        description="The output axis of each operand axis, without repetition.", examples=[[2, 1]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target, mapping = shapes, tuple(self.shape), tuple(self.broadcast_dimensions)
        check_entries(mapping, Input(0, shape), "broadcast_dimensions")
        check_mapping(mapping, target, "broadcast_dimensions")
        check_sizes(target, "shape")
        return align_mapped(shapes, target, mapping, Relation.BROADCAST_TO)
