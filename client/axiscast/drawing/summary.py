"""The sentences below a drawing: how the inputs reach the output."""

from __future__ import annotations

from math import prod

from ..words.names import joined
from .drawing import Drawing
from .scenes import Layer, Scene, letter_of


def summary_of(drawing: Drawing) -> str:
    """Return along which axes the inputs are copied, repeated or summed, or which axes meet in a conflict.

    >>> from axiscast import check
    >>> from axiscast.drawing.pictures import drawing_of
    >>> summary_of(drawing_of({"inputs": [(3, 1), (4,)]}))
    'a is copied along axis 1 and b along axis 0.'
    """
    sentences = [_tiled(scene) or _copied(scene) for scene in drawing.scenes]
    marked = [f"axis {panel.marked} of {panel.name}" for panel in drawing.panels if panel.marked not in (None, -1)]
    if drawing.is_product:
        sentences.append(f"The product is summed over {joined(marked)}." if marked else "Nothing is summed.")
    elif marked:
        sentences.append(f"A{' meets '.join(marked)[1:]}.")
    return " ".join(sentences)


def _tiled(scene: Scene) -> str:
    """Return how often the op repeats an input, or "" if the op merges no axes."""
    if len(scene.layers) > 1 or all(len(group) == 1 for group in scene.groups):
        return ""
    kinds, name = iter(scene.layers[0].kinds), letter_of(scene.layers[0].input)
    counts = [prod(size for size in group if next(kinds)) for group in scene.groups]
    times = [f"{count} times along axis {axis}" for axis, count in enumerate(counts) if count != 1]
    return f"{name} is repeated {joined(times)}." if times else f"{name} is not repeated."


def _copied(scene: Scene) -> str:
    if 0 in scene.shape:
        return "An axis of size 0 has no elements, so nothing is copied."
    always: list[str] = []
    sometimes: list[str] = []
    for layer in scene.layers:
        name = letter_of(layer.input)
        axes = [
            str(axis)
            for axis, kind in enumerate(layer.kinds)
            if kind in ("new", "stretch") and scene.factors[axis] != 1
        ]
        if axes:
            always.append(
                f"{name}{'' if always else ' is copied'} along ax{'e' if len(axes) > 1 else 'i'}s {joined(axes)}"
            )
        for axis in (axis for axis, kind in enumerate(layer.kinds) if kind == "maybe"):
            sometimes.append(f"{name} is copied along axis {axis} if {_is_one(layer, axis)}")
    if not always and not sometimes:
        return f"{letter_of(scene.layers[0].input)} is not copied." if len(scene.layers) == 1 else "Nothing is copied."
    return " ".join(f"{joined(parts)}." for parts in (always, sometimes) if parts)


def _is_one(layer: Layer, axis: int) -> str:
    """Return the condition under which a layer is copied along an axis of symbolic size."""
    size = str(layer.factors[layer.axes.index(axis)])
    return "its size is 1" if size == "?" else f"{size} == 1"
