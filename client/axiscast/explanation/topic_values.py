"""Sentences that state the sizes and shapes in an error message whose topic is in error_topics.py."""

from __future__ import annotations

import re

_N = r"(\d{1,19})"
_I = r"(-?\d{1,19})"
_SHAPE = r"((?:torch\.size)?[(\[][\d, none()\[\]-]{0,200}[)\]])"

_SENTENCES: dict[str, str] = {
    rf"first two dimensions of batch2 tensor to be: \[{_N}, {_N}\] but got: \[{_N}, {_N}\]":
        "The first operand has {0} matrices with {1} columns, but the second has {2} matrices with {3} rows.",
    rf"size mismatch, m1: \[{_N} x {_N}\], m2: \[{_N} x {_N}\]":
        "The first matrix has {1} columns, but the second has {2} rows.",
    rf"target size \({_SHAPE}\) must be the same as input size \({_SHAPE}\)":
        "The target has shape {0}, but the input has shape {1}. If both have the same number of elements, write "
        "`target.view_as(input)`.",
    rf"expected input batch_size \({_N}\) to match target batch_size \({_N}\)":
        "The input has {0} rows, but the target has {1} rows.",
    rf"expected target size {_SHAPE}, got {_SHAPE}": "The target must have shape {0}, not {1}.",
    rf"`target` and `output` must have the same (?:shape|rank \(ndim\))\. received: target\.shape={_SHAPE}, "
    rf"output\.shape={_SHAPE}": "The target has shape {0}, but the output has shape {1}.",
    rf"`logits` and `labels` must have the same shape, received \({_SHAPE} vs {_SHAPE}\)":
        "The logits have shape {0}, but the labels have shape {1}.",
    rf"logits and labels must have the same first dimension, got logits shape {_SHAPE} and labels shape {_SHAPE}":
        "The logits have shape {0}, but the labels have shape {1}.",
    rf"except for the concatenation axis must match exactly, but along dimension {_N}, the array at index {_N} has "
    rf"size {_N} and the array at index {_N} has size {_N}":
        "On axis {0}, input {1} has size {2} but input {3} has size {4}.",
    rf"same number of dimensions, but the array at index {_N} has {_N} dimension\(s\) and the array at index {_N} has "
    rf"{_N} dimension": "All inputs must have the same number of axes: input {0} has {1} axes, but input {2} has {3}.",
    rf"must match except in dimension {_N}\. expected size {_N} but got size {_N} for tensor number {_N}":
        "Input {3} has size {2} on an axis on which input 0 has size {1}.",
    rf"stack expects each tensor to be equal size, but got {_SHAPE} at entry {_N} and {_SHAPE} at entry {_N}":
        "Input {1} has shape {0}, but input {3} has shape {2}.",
    rf"concatop : dimensions? .{{1,60}}?: shape\[{_N}\] = {_SHAPE} vs\. shape\[{_N}\] = {_SHAPE}(?: \[op:concatv2)?":
        "Input {0} has shape {1}, but input {2} has shape {3}.",
    rf"cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
    rf"concatenating along dimension {_N} for shapes ((?:\([\d, ]{{0,100}}\)(?:, )?){{1,20}})":
        "The joined axis is axis {0}, and the shapes are {1}.",
    rf"cannot reshape array of shape {_SHAPE} \(size {_N}\) into shape {_SHAPE} \(size {_N}\)":
        "The array has {1} elements, but the new shape has {3}.",
    rf"index {_I} is out of bounds for (?:axis|dimension) {_N} with size {_N}":
        "The call uses index {0}, but axis {1} has size {2}.",
    rf"axis {_I} is out of bounds for array of dimension {_N}": "The call names axis {0}, but the array has {1} axes.",
    rf"dimension out of range \(expected to be in range of \[{_I}, {_I}\], but got {_I}\)":
        "The call names axis {2}, but the axes are numbered from {0} to {1}.",
    rf"too many indices(?: for array)?: array is {_N}-dimensional, but {_N} were indexed":
        "The array has {0} axes, but the call has {1} indices.",
    rf"is incompatible with the layer: expected axis {_I} of input shape to have value {_N},? but received input with "
    rf"shape {_SHAPE}": "For this layer, axis {0} must have size {1}, but the input has shape {2}.",
    rf"is incompatible with the layer: expected min_ndim={_N}, found ndim={_N}":
        "The layer needs at least {0} axes, but the input has {1}.",
    rf"expected input{_SHAPE} to have {_N} channels, but got {_N} channels instead":
        "The input of shape {0} has {2} channels, but the layer needs {1} channels.",
    rf"running_mean should contain {_N} elements not {_N}":
        "The input has {0} channels, but the layer was built for {1}.",
    rf"input\.size\(-1\) must be equal to input_size\. expected {_N}, got {_N}":
        "The last axis of the input has size {1}, but the layer was built for {0}.",
    rf"size mismatch for \S{{1,100}} copying a param with shape {_SHAPE} from checkpoint, the shape in "
    rf"current model is {_SHAPE}":
        "The parameter has shape {0} in the checkpoint, but shape {1} in the model.",
    rf"given normalized_shape={_SHAPE}, expected input with shape \[\*, [\d, ]{{1,40}}\], but got input of "
    rf"size{_SHAPE}":
        "The last axes of the input must have shape {0}, but the input has shape {1}.",
    rf"attn_mask is {_SHAPE}, but should be {_SHAPE}": "The mask has shape {0}, but must have shape {1}.",
    rf"cannot reshape array of size {_N} into shape {_SHAPE}": "The array has {0} elements; the new shape is {1}.",
    rf"shape '{_SHAPE}' is invalid for input of size {_N}": "The input has {1} elements; the new shape is {0}.",
    rf"input to reshape is a tensor with {_N} values, but the requested shape has {_N}":
        "The input has {0} elements, but the new shape has {1}.",
    rf"did not match indexed array along (?:axis|dimension) {_N}; (?:size of axis|dimension) is {_N} but (?:size of )?"
    rf"corresponding boolean (?:axis|dimension) is {_N}":
        "On axis {0}, the array has size {1} but the mask has size {2}.",
    rf"numpy boolean array indexing assignment cannot assign {_N} input values to the {_N} output values":
        "The mask selects {1} elements, but you assign {0} values.",
    rf"the shape of the mask {_SHAPE} at index {_N} does not match the shape of the indexed tensor {_SHAPE}":
        "The mask has shape {0}, but the tensor has shape {2}.",
    rf"unable to coerce to series, length must be {_N}: given {_N}":
        "An array is combined with each row, so it needs {0} values, not {1}. To combine it with each column, use a "
        "method with `axis=0`, for example `frame.add(array, axis=0)`.",
    rf"unable to coerce to dataframe, shape must be {_SHAPE}: given {_SHAPE}": "The array needs shape {0}, not {1}.",
    rf"length of values \({_N}\) does not match length of index \({_N}\)": "The index needs {1} values, not {0}.",
    rf"shape of passed values is {_SHAPE}, indices imply {_SHAPE}":
        "The values have shape {0}, but the index and the columns need shape {1}.",
    rf"length mismatch: expected axis has {_N} elements, new values have {_N} elements":
        "The axis needs {0} labels, not {1}.",
    rf"input operand {_N} does not have enough dimensions \(has {_N}, gufunc core with signature \S{{1,80}} requires "
    rf"{_N}":
        "Operand {0} has {1} axes, but the function requires at least {2}.",
    rf"data must be 1-dimensional, got ndarray of shape {_SHAPE}":
        "The array has shape {0}, but only one axis is allowed.",
    rf"\(batched\) input to \w{{1,40}}, but got input of size: {_SHAPE}": "The input has shape {0}.",
    rf"different number of dimensions on data and dims: {_N} vs {_N}":
        "The array has {0} axes, but {1} names are given.",
    rf"got invalid dimensions for input: .{{1,200}}? for the following indices index: {_N} got: {_N} expected: {_N}":
        "On axis {0}, the array has size {1}, but the model declares size {2}.",
    rf"invalid rank for input: .{{1,200}}? got: {_N} expected: {_N}":
        "The array has {0} axes, but the model declares {1}.",
    rf"x and y must have same first dimension, but have shapes {_SHAPE} and {_SHAPE}": "They have shapes {0} and {1}.",
    r"inconsistent numbers of samples: \[([\d, ]{1,200})\]": "The lengths are {0}.",
    rf"returned an invalid gradient at index {_N} - got {_SHAPE} but expected shape compatible with {_SHAPE}":
        "The gradient has shape {1}, but the tensor has shape {2}.",
    rf"shapes {_SHAPE} and {_SHAPE} are incompatible": "The shapes are {0} and {1}.",
}  # fmt: skip
"""A pattern of the lower-case message, and a sentence with its values.

Each repetition in a pattern is limited, so that the search takes linear time.
"""


def values_at(text: str, at: int) -> str:
    """Return the sentence for the message that contains this index, or an empty string if there is no such message.

    `text` must be lower-case, with single spaces.
    """
    start = max(at - 300, 0)
    for pattern, sentence in _SENTENCES.items():
        for found in re.compile(pattern).finditer(text, start, at + 1200):
            if found.start() <= at < found.end():
                return sentence.format(*map(_written, found.groups()))
    return ""


def _written(value: str) -> str:
    """Return a value as users write it, without the name of PyTorch's class."""
    if value.startswith("torch.size("):
        return value.removeprefix("torch.size(").removesuffix(")")
    return value.replace("none", "None")
