"""The topics of error messages that are not about broadcasting: known phrases, and an explanation for each topic."""

from __future__ import annotations

from .topic_values import values_at

_TOPICS: dict[str, tuple[str, ...]] = {
    "This error is about indexing: an index is out of range, or there are more indices than axes.": (
        "is out of bounds for axis", "is out of bounds for dimension", "too many indices", "index out of range in self",
        "[op:slice]", "slice_sizes must be less than or equal to operand shape", "indices element out of data bounds",
        "index must be less than the size of input dim",
        "): out of bound ", "of slice is out of bounds", "is out of bounds with size",
        "indexer is out-of-bounds", " is not in [0, ", "slice index ", "of op(embedding) expected >= 0",
    ),
    "This error is about a boolean mask: its shape must be the shape of the array that it selects from.": (
        "boolean index did not match", "putmask: mask and data", "attn_mask is", "the shape of the mask",
        "numpy boolean array indexing assignment",
        "array conditional must be same shape as self",
    ),
    "This error is about an axis that the array does not have, or about a list of axes whose length is not the "
    "array's rank.": (
        "is out of bounds for array of dimension", "axes don't match array", "dimension out of range (expected",
        "invalid reduction dimension", "transpose expects a vector of size", "the reduce dim index",
        "out of the tensor rank range", "invalid attribute perm", "the axis must be in", "the axis value must be in",
        "size of perm should equal to rank", "axes for array with", "invalid axis", "exceeds input dimensions",
        "does not match the length of the desired ordering", "out of range [", "invalid value of attribute 'axis'",
        "for attribute 'axis'", "input order must have shape [n]", "not found in array dimensions",
        "is not a valid dimension or coordinate", "should be equal to or greater than the axis's size",
        "== param.axes.ndim()",
        "permutation vector ", ": invalid dimension dim",
        "must match length of perm", "dims don't match in permute", "all values in axis param must be",
    ),
    "This error is about joining arrays (concatenate, stack): all sizes must be equal, except on the joined axis.": (
        "except for the concatenation axis", "same number of dimensions, but the array at index",
        "all input arrays must have the same shape", "must match except in dimension", "stack expects each tensor",
        "tensors must have same number of dimensions: got", "cannot concatenate arrays", "concatop : ", "[op:concatv2]",
        "shapes of all inputs must match", "non concat axis dimensions must match", "all inputs to concat must have",
        "op (concat) ", "op_type:concat", "except on the concatenation axis", "-th dimension of input[0] and input[",
        "must match except in given concat axis", "all input shape must be the same", "[stack] all arrays must have",
        "must have the same shape except on the `axis` dim", "shapes do not align", "concat.cc",
        "stacked arrays must have the same shape", "primitive[concat]",
        "vertical dimensions mismatch", "horizontal dimensions mismatch",
        "along the non-concatenated axis", "passed to stack must have matching shapes",
    ),
    "This error is about a reshape: the new shape must have as many elements as the old shape.": (
        "cannot reshape", "is invalid for input of size", "view size is not compatible", "input to reshape is a tensor",
        "can't reshape", "cannot be reshaped", "in reshapeop is invalid",
        "the total size of the tensor must be unchanged",
        "total size of new array must be unchanged", "target shape size is larger than the current shape",
        "is incompatible with input shape",
        "must match the product of shape", "based on the provided shape",
    ),
    "This error is about a squeeze: only axes of size 1 can be removed.": (
        "select an axis to squeeze out", "can not squeeze dim", "squeezebase", "cannot squeeze", "can't squeeze axis",
    ),
    "This error is about gather or scatter: the index must have the same rank as the tensor, and fit the tensor on "
    "the other axes.": (
        "apart from dimension", "index tensor must have the same number of dimensions as",
    ),
    "This error is about data types, not shapes.": (
        "to have same dtype", "did not contain a loop with signature", "cannot cast ufunc", "' not understood",
        "can't be cast to the desired output type", "requires arguments to have the same dtype",
        "(zero-based) was expected to be a",
        "do not have the same element type", "requires compatible dtypes", "unsupported operand type(s)",
        "the same dtypes", "arguments of dtype", "same dtypes", "issues with types <class",
        " that does not match type ",
    ),
    "This error is about a convolution or a normalisation: the axes, channels or sizes of the input do not fit the "
    "layer.": (
        "channels instead", "kernel size can't be greater", "input depth must be evenly divisible",
        "is not equal to kernel channels", "number of input's channels", "input feature dimension size",
        "filter input channel count", "'c_in' of input", "expected more than 1 value per channel",
        "(batched) input to ", "expect the input channels", "running_mean should contain",
        "given normalized_shape", "number of spatial dimensions", "must match input depth for filter",
    ),
    "This error is about an einsum: a letter has different sizes, or the equation does not fit its operands.": (
        "einsum()", "[einsum]", "[op:einsum]", "size of label", "same label have different shapes",
        "einstein sum subscripts", "given in einstein sum", "for collapsing index", " of input shaped [",
    ),
    "This error is about a product of matrices or vectors: the summed axes, or the stacks of matrices, do not fit "
    "each other.": (
        "first two dimensions of batch2 tensor to be", "must have same number of batches", "for argument #2 'batch2'",
        "matrices are not aligned", "size mismatch, m1: ", "inconsistent tensor size, expected tensor",
        "matmul input shapes are incompatible", "mat1 dim 1 must match mat2 dim 0", "valueerror: dimension mismatch",
        "the same batch size in bmmop", "shape-mismatch for sum", "for batchmatmul, inputs shape", "dot shape error",
    ),
    "This error is about a linear algebra function: the axes of its arguments do not fit each other.": (
        "with gufunc signature",
    ),
    "This error is about the chunks of a Dask array: they do not add up to its shape. The operands may not "
    "broadcast, so check their shapes.": ("chunks do not add up to shape",),
    "This error is about an einops pattern: the pattern does not fit its input, or its two sides do not fit each "
    "other.": ("-reduction pattern \"",),
    "This error is about the target of a loss: this loss requires a target of a certain shape, and does not "
    "broadcast.": (
        "to match target batch_size", "multi-target not supported", "must be the same as input size", "is deprecated. "
        "please ensure they have the same size", "`labels.shape` must equal", "input(logits) and input(label)",
        "var is of incorrect size", "expected target size", "`target` and `output` must have the same",
        "`logits` and `labels` must have the same", "logits and labels must have the same",
        "must have rank (ndim) `target.ndim",
    ),
    "This error is about a layer or a model that was built for other input sizes.": (
        "is incompatible with the layer", "must be equal to input_size", "error(s) in loading state_dict",
        "size mismatch for ",
        "error when checking ", " features as input",
    ),
    "This error comes from vmap: the mapped axes must have the same size.": (
        "vmap got inconsistent", "vmap: expected",
    ),
    "This error is about a split: the axis size must be the sum of the part sizes, or a multiple of the part count.": (
        "does not result in an equal division", "split_sizes to sum", "evenly divide the split", "op (split)",
        "along the split dimension must be", "evenly divisible by 'num_splits'", "chunk expects",
        "number of splits must evenly divide",
    ),
    "This error is about a matrix that must be square.": (
        "must be square", "must be a square matrix", "batches of square matrices", "must have shape [..., n, n]",
        "the last two dimensions are expected to be equal",
    ),
    "This error is about an array that has several values, although one value was expected.": (
        "truth value of a", "boolean value of tensor", "converted to python scalars", "cannot be converted to scalar",
        "created only for scalar outputs", "defined for scalar-output functions", "only 0-dimensional arrays",
        "only length-1 arrays",
    ),
    "This error is about a nested list whose rows have different lengths.": (
        "inhomogeneous shape", "expected sequence of length", "non-rectangular python sequence",
        "setting an array element with a sequence",
    ),
    "This error is about an operation that requires inputs of the same shape and does not broadcast.": (
        "must be scalar or have the same shape as cases", "clamp requires min.shape", "incompatible attr in node",
        "shapes must be equal", ") are incompatible", "operator where inferring shapes failed",
        "the assigned value shape", "not compatible with expected shape", "as many biases as the last dimension",
        "mismatch) actual", "mismatch) x:",
        "inferred shape and existing shape differ", "valueerror: inconsistent shapes",
        "inferred and declared dimension have different values", "replacement data must match the variable's shape",
        "passed to tf.addn() must have", "error in meansquarederror", "error in absolutedifference",
    ),
    "This error is about a pandas object: the number of values must be the number of its rows or columns.": (
        "unable to coerce to ", "does not match length of index", "identically-labeled", "indices imply",
        "must all be the same length", "all arrays must be of the same length", "arrays must all be same length",
        "columns must be same length as key", "lengths must match to compare", "must have equal len keys and value",
        "cannot set a row with mismatched columns", "length mismatch: expected axis has",
    ),
    "This error is about paired arrays: they must have the same number of elements.": (
        "x and y must have same first dimension", "x and y must be the same size",
        "expected x and y to have same length",
        "fp and xp are not of the same length", "xp and fp must be one-dimensional arrays of equal size",
        "inconsistent numbers of samples", "data cardinality is ambiguous", "weights should have the same shape",
        "shape of weights must be consistent", "shapes of a and weights differ",
    ),
    "This error is about the number of axes of an array: the function requires more or fewer axes.": (
        "does not have enough dimensions", "2d array, got 1d array instead", "mat2 must be a matrix",
        "self must be a matrix", "must be a 3d tensor", "1d tensors expected",
        "expects a tensor with <= 2 dimensions", "number of dimensions on data and dims", "shape must be rank ",
        "data must be 1-dimensional", "shape must be at least rank ", "] ndims must be >= ", "-dimensional input for ",
        "inputs must have the same number of dimensions", "implies that its rank should be at least",
        "must have the same length as the number of data dimensions", "got arrays of different rank",
        "must be greater or equal to the number of dimensions in the tensor",
    ),
    "This error is about an input of an ONNX model: the array must have the shape that the model declares.": (
        "got invalid dimensions for input: ", "invalid rank for input: ",
    ),
    "This error is about an empty array, or about an empty list of arrays.": (
        "zero-size array to reduction operation", "need at least one array to", "expects a non-empty tensorlist",
        "expected a non-empty list of tensors",
    ),
    "This error is about a negative size: only some functions, such as reshape, accept -1 as a size.": (
        "negative dimensions are not allowed", "with negative dimension",
    ),
    "This error is about devices, not shapes: move all operands to the same device.": (
        "tensors to be on the same device",
    ),
    "This error is about a gradient: it must have the shape of the tensor that it belongs to.": (
        "returned an invalid gradient at index ", "mismatch in shape: grad_output",
    ),
    "This error is about a function that JAX traces: its shapes and branches can't depend on values, and its types "
    "must not change.": (
        "jax.errors.", "scan body function carry", "cond branches must have equal types", "jax arrays are immutable",
        "true_fun and", "shapes must be 1d sequences of concrete values",
    ),
    "This error is about tile or repeat: each axis needs a count.": (
        "expected multiples argument", "number of dimensions of repeat dims",
        "input has incorrect number of values", "'repeat' input tensor must have", "broadcast together with shape (",
        "must match length of reps",
    ),
    "This error is from ggml: each size of the larger tensor must be a multiple of the size of the repeated tensor.": (
        "ggml_assert(ggml_can_repeat(",
    ),
    "This error is about tile or repeat: a number of copies must not be negative.": (
        "'repeats' input must not contain negative", "expected multiples[", "'repeat_times' for tile op must be",
        "for 'tile', 'dims' cannot contain negative",
    ),
    "This error is about memory: the array is too large.": (
        "unable to allocate", "out of memory", "cannot allocate memory", "resource exhausted",
    ),
}  # fmt: skip


_BROADCASTING = (
    "cannot be broadcast", "could not be broadcast", "can't be broadcast", "cannot broadcast", "could not broadcast",
    "not broadcastable", "non-broadcastable", "must be broadcastable", "incompatible shapes", "shapes are incompatible",
    "of compatible size or scalars",
    "arrays have incompatible sizes for this operation", "matrix dimensions must agree",
)  # fmt: skip
_UNREAD = (
    "This error is about shapes that do not broadcast, but axiscast does not know this wording. Print the shapes of "
    "the operands, and check them with `axiscast check SHAPE SHAPE`, where each SHAPE is written as 2,64,7,7."
)


def topic_of(text: str) -> str | None:
    """Return the explanation for the last known phrase in a string, or None if there is no known phrase.

    In the string, each run of white space must be replaced by one space.
    """
    text = text.lower()
    places = ((at, topic) for topic, known in _TOPICS.items() for phrase in known if (at := text.rfind(phrase)) >= 0)
    at, topic = max(places, default=(0, None))
    if topic is not None:
        return f"{topic} {values_at(text, at)}".rstrip()
    return _UNREAD if any(phrase in text for phrase in _BROADCASTING) else None
