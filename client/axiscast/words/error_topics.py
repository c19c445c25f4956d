"""Error messages that are not about broadcasting: their wordings, and the topic and the explanation of each.

In TABLE, a line without indentation begins a topic: its code, and a sentence. Each entry below it has wordings, and
after the last `|` an explanation or nothing. Further lines of an entry are indented more.

In a wording, `<n>` stands for an integer, `<s>` for a shape of integers, `<p>` for a shape in which sizes may be
unknown, `<w>` for a word and `<...>` for a short text. An explanation is sentences with these values. It replaces the
sentence of the topic, or follows it if it begins with `+`. It may end with `=` and the name of a function in
error_advice.py, which gets all values, or those with the numbers after the name. In the code of an explanation,
`[[x|(2, 3)|0]]` is the name of an array (`with_names` in explanation/topic_search.py).
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """The topic of an error: its code, and what is known about the error."""

    code: str
    text: str


UNREAD = Topic("unread", "This error seems to be about sizes or axes, but axiscast does not recognize this message.")


TABLE = """
index: An index is out of range.
  index <n> is out of bounds for axis <n> with size <n> | index <n> is out of bounds for dimension <n> with size <n> |
      Index {0} is out of range for axis {1}, which has size {2}. =last_index 2
  index=<n> is out of bounds with size=<n> | index <n> is out of bounds for dimension with size <n> |
      Index {0} is out of range for size {1}.
  indices[<...>] = <n> is not in [0, <n>) | Index {1} is out of range for size {2}.
  too many indices for array: array is <n>-dimensional, but <n> were indexed | too many indices: array is
      <n>-dimensional, but <n> were indexed |
      The array has {0} axes, but {1} indices are given.
  too many indices for tensor of dimension <n> | The tensor has {0} axes, but more indices are given.
  index out of range in self |
      In an embedding, each index must be less than num_embeddings. Compare num_embeddings with the largest index,
      `x.max()`.
  [op:slice] | slice_sizes must be less than or equal to operand shape | indices element out of data bounds | index must
      be less than the size of input dim | ): out of bound | of slice is out of bounds | indexer is out-of-bounds | is
      not in [0, | slice index | of op(embedding) expected >= 0 |
mask: A boolean mask must have the shape of the first axes of the array that it selects from.
  did not match indexed array along axis <n>; size of axis is <n> but size of corresponding boolean axis is <n> | did
      not match indexed array along dimension <n>; dimension is <n> but corresponding boolean dimension is <n> |
      The mask has size {2} on axis {0}, but the array has size {1}.
  did not match shape of indexed array in index <n>: got <s>, expected <s> |
      The mask has shape {1}, but must have shape {2}.
  the shape of the mask <s> at index <n> does not match the shape of the indexed tensor <s> at index <n> |
      + The mask has shape {0}, but the tensor has shape {2}. =mask 0 2
mask-values: A boolean mask selects as many elements as it has true values.
  cannot assign <n> input values to the <n> output values where the mask is true |
      The mask selects {1} elements, but {0} values are assigned. If the values have the shape of the whole array, write
      `values[mask]`.
attention-mask: An attention mask must have the shape that the queries and keys require.
  attn_mask is <s>, but should be <s> | The attention mask has shape {0}, but must have shape {1}.
  key_padded_mask.shape[<n>] to be <n>, but got <n> |
      `key_padding_mask` must have shape (batch, keys): on axis {0}, it must have size {1}, not {2}. If its axes are
      swapped, write `[[key_padding_mask||3]].T`.
mask-shape: The mask must have the shape of the array.
  putmask: mask and data | array conditional must be same shape as self |
axis: One of the given axes does not exist in the array.
  axis <n> is out of bounds for array of dimension <n> | Axis {0} does not exist: the array has {1} axes.
  dimension out of range (expected to be in range of [<n>, <n>], but got <n>) |
      Axis {2} does not exist: the axes are numbered from {0} to {1}.
  '<w>' not found in array dimensions <...>) | Dimension {0} does not exist: the array has the dimensions {1}).
  input.dim() = <n> is not equal to len(dims) = <n> | The tensor has {0} axes, but {1} are given. Name each axis once.
  axes don't match array | transpose expects a vector of size | invalid attribute perm | size of perm should equal to
      rank | input order must have shape [n] | permutation vector | must match length of perm | dims don't match in
      permute |
      A transpose needs each axis of the array exactly once.
  invalid reduction dimension | the reduce dim index | out of the tensor rank range | the axis must be in | the axis
      value must be in | axes for array with | invalid axis | exceeds input dimensions | out of range [ | invalid value
      of attribute 'axis' | for attribute 'axis' | is not a valid dimension or coordinate | should be equal to or
      greater than the axis's size | == param.axes.ndim() | : invalid dimension dim | all values in axis param must be |
      } do not exist. expected one or more of |
join: Arrays that are joined must have equal sizes on all axes, except on the axis along which they are concatenated.
  must match exactly, but along dimension <n>, the array at index <n> has size <n> and the array at index <n> has size
      <n> |
      On axis {0}, input {1} has size {2}, but input {3} has size {4}. Only the sizes on the joined axis may differ.
  same number of dimensions, but the array at index <n> has <n> dimension(s) and the array at index <n> has <n>
      dimension |
      Arrays that are joined must have the same number of axes, but input {0} has {1}, and input {2} has {3}. =row 1 3 0
      2
  sizes of tensors must match except in dimension <n>. expected size <n> but got size <n> for tensor number <n> |
      Input {3} has size {2} on an axis where input 0 has size {1}. Only the sizes on the joined axis may differ.
  tensors must have same number of dimensions: got <n> and <n> |
      Tensors that are joined must have the same number of axes, but one has {0}, and another has {1}. =row
  stack expects each tensor to be equal size, but got <s> at entry <n> and <s> at entry <n> |
      Tensors that are stacked must have equal shapes, but input {1} has shape {0}, and input {3} has shape {2}.
  shape[<n>] = <s> vs. shape[<n>] = <s> | shapes of all inputs must match: values[<n>].shape = <s> != values[<n>].shape
      = <s> |
      + Input {0} has shape {1}, but input {2} has shape {3}.
  concatenating along dimension <n> for shapes <s>, <s> |
      Shapes {1} and {2} can't be joined along axis {0}: all other sizes must be equal.
  input shapes {<s>,<s>} argument shapes are inconsistent; <...> except on the concatenation axis (axis <n>) |
      Shapes {0} and {1} can't be joined along axis {3}: all other sizes must be equal.
  the provided shapes are <s>, <s>, and the concatenation axis is <n> |
      Shapes {0} and {1} can't be joined along axis {2}: all other sizes must be equal.
  received inputs_dims[0][j]:<n> != inputs_dims[i][j]:<n> |
      Input 0 has size {0} where another input has size {1}. Only the sizes on the joined axis may differ.
  except for the concatenation axis. received: input_shape=[<p>, <p>] |
      Shapes {0} and {1} can't be joined: only the sizes on the joined axis may differ.
  axis <n> has mismatched dimensions of <n> and <n> |
      On axis {0}, one input has size {1}, but another has size {2}. Only the sizes on the joined axis may differ.
  all input arrays must have the same shape | must match except in dimension | except for the concatenation axis | stack
      expects each tensor | non concat axis dimensions must match | op (concat) | op_type:concat | -th dimension of
      input[0] and input[ | all input shape must be the same | [stack] all arrays must have | must have the same shape
      except on the `axis` dim | shapes do not align | concat.cc | stacked arrays must have the same shape | vertical
      dimensions mismatch | horizontal dimensions mismatch | along the non-concatenated axis | passed to stack must have
      matching shapes |
reshape: A reshape must keep the number of elements.
  cannot reshape array of shape <s> (size <n>) into shape <s> (size <n>) | received x's shape = <s>, x's size = <n>,
      'shape' is <s> |
      =reshape 1 2
  cannot reshape array of size <n> into shape <s> | =reshape
  shape '<s>' is invalid for input of size <n> | =reshape 1 0
  input to reshape is a tensor with <n> values, but the requested shape has <n> |
      The input has {0} elements, but the new shape has {1}.
  can't reshape (<s>) -> (<s>) | Shape {0} can't become {1}: a reshape must keep the number of elements.
  sizes <s> don't multiply up to the size of dim <n> (<n>) | Axis {1} has size {2}, which is not the product of {0}.
  view size is not compatible with input tensor's size and stride |
      `view` needs elements that are adjacent in memory. After a transpose, for example, they are not: write `reshape`
      instead.
  is invalid for input of size | cannot reshape array of | input to reshape is a tensor | can't reshape | cannot be
      reshaped | the total size of the tensor must be unchanged | total size of new array must be unchanged | target
      shape size is larger than the current shape | is incompatible with input shape | must match the product of shape |
      based on the provided shape |
squeeze: A squeeze can only remove axes of size 1.
  select an axis to squeeze out | can not squeeze dim | squeezebase | can't squeeze axis |
gather: The index must have as many axes as the tensor, and must not be larger than the tensor, except along `dim`.
  expected index <s> to be no larger than self <s> apart from dimension <n> |
      The index of shape {0} must not be larger than the tensor of shape {1}, except along axis {2}.
  index tensor must have the same number of dimensions as | The index must have as many axes as the tensor.
data-types: This error is about data types, not shapes.
  to have same dtype | did not contain a loop with signature | cannot cast ufunc | ' not understood | can't be cast to
      the desired output type | requires arguments to have the same dtype | (zero-based) was expected to be a | do not
      have the same element type | unsupported operand type(s) | issues with types <class | that does not match type |
      numeric dtypes are allowed |
layer: The input does not fit this layer.
  expected input<s> to have <n> channels, but got <n> channels instead |
      The layer was built for {1} channels, but axis 1 of its input {0} has size {2}. =channels
  running_mean should contain <n> elements not <n> |
      The layer was built for num_features={1}, but the input has {0} channels on axis 1. Write num_features={0}.
  given normalized_shape=<s>, expected input with shape <...>, but got input of size<s> |
      The layer was built for normalized_shape={0}, but its input has shape {2}. =normalized_shape 0 2
  channels in input, but got weight of shape <s> and input of shape <s> |
      The weight of the layer has shape {0}, but the input has shape {1}. num_channels must be the size of axis 1 of the
      input.
  expected <n>d (unbatched) or <n>d (batched) input to <w>, but got input of size: <p> |
      {2} needs an input with {0} or {1} axes, but the input has shape {3}.
  expected <n>-dimensional input for <n>-dimensional weight <s>, but got <n>-dimensional input of size <s> |
      The layer needs an input with {0} axes, but the input has shape {4}.
  expected <n>d input (got <n>d input) | The layer needs an input with {0} axes, but the input has {1}.
  expected <n>d or <n>d input (got <n>d input) | The layer needs an input with {0} or {1} axes, but the input has {2}.
  expected hidden<...> size <s>, got <s> |
      The initial state has shape {2}, but must have shape {1}: (layers, batch, hidden_size).
  input has inconsistent input_size: got <n> expected <n> |
      The layer was built for input_size={1}, but the last axis of the input has size {0}. Write input_size={0}.
  does not match weight size: got <n> but expected <n> |
      The layer was built for {1} features, but the last axis of the input has size {0}.
  padding length should be less than or equal to two times the input dimension but got padding length <n> and input of
      dimension <n> |
      An axis takes two numbers of padding, but {0} numbers are given for an input with {1} axes.
  but got input with spatial dimensions of <s> and output size of <s> |
      `size` needs one number for each spatial axis: the spatial sizes of the input are {0}, but `size` is {1}.
  embed_dim must be divisible by num_heads |
      num_heads must divide embed_dim, because each head gets an equal part of it.
  expected ndim=<n>, found ndim=<n> | The layer needs {0} axes, but the input has {1}.
  input.size(-1) must be equal to input_size. expected <n>, got <n> |
      The layer was built for input_size={0}, but the last axis of the input has size {1}. Write input_size={1}.
  was expecting embedding dimension of <n>, but got <n> |
      The layer was built for embed_dim={0}, but the last axis of the query has size {1}. Write embed_dim={1}.
  calculated padded input size per channel: (<...>). kernel size: (<...>) |
      The kernel ({1}) is larger than the padded input ({0}). Use a smaller kernel, or add padding.
  expected axis <n> of input shape to have value <n>, but received input with shape <p> | expected axis <n> of input
      shape to have value <n> but received input with shape <p> |
      Axis {0} must have size {1}, because the layer was built for it, but the input has shape {2}.
  is incompatible with the layer: expected min_ndim=<n>, found ndim=<n> |
      The layer needs at least {0} axes, but the input has {1}.
  x has <n> features, but <w> is expecting <n> features as input |
      {1} was fitted with {2} columns, but X has {0}. Pass the same columns as in `fit`.
  expected more than 1 value per channel when training, got input size <s> |
      The input {0} has only one value per channel, and one value has no variance. Use a larger batch, or call `eval()`.
  input depth must be evenly divisible | is not equal to kernel channels | number of input's channels | input feature
      dimension size | filter input channel count | 'c_in' of input | expect the input channels | given normalized_shape
      | number of spatial dimensions | must match input depth for filter | error when checking | 'weight' must be 2-d |
checkpoint: The parameters of the checkpoint do not have the shapes of the model.
  size mismatch for <...>: copying a param with shape <s> from checkpoint, the shape in current model is <s> |
      {0} has shape {1} in the checkpoint, but shape {2} in the model. Build the model with the sizes of the checkpoint.
einsum: The einsum does not fit its operands: a letter has two sizes, or a term has more or fewer letters than its
      operand has axes.
  the number of subscripts in the equation (<n>) does not match the number of dimensions (<n>) for operand <n> |
      The term of operand {2} has {0} letters, but the operand has {1} axes.
  einstein sum subscripts | given in einstein sum | for collapsing index | of input shaped [ |
product: The operands of the product do not fit: the axes that are summed must have equal sizes.
  batch2 tensor to be: [<n>, <n>] but got: [<n>, <n>] |
      The first operand has {0} matrices with {1} columns, but the second has {2} matrices with {3} rows. Both must have
      the same number of matrices, and the first must have as many columns as the second has rows. =batches 0 1 2
  size mismatch, m1: [<n> x <n>], m2: [<n> x <n>] |
      The first matrix has {1} columns, but the second has {2} rows. These numbers must be equal.
  dimension mismatch with signature (n,k=<n>),(k=<n>, |
      The first operand has {0} columns, but the second has {1} rows. These numbers must be equal.
  gemm: dimension mismatch, w: {<n>,<n>} k: <n> |
      The first input has {2} columns, but W has shape ({0}, {1}). W must have {2} rows, or {2} columns if transB is 1.
  x1 and x2 must have the same number of columns. x1: <n> x2: <n> |
      Both arguments must have the same number of columns, but the first has {0}, and the second has {1}.
  incompatible input shapes: axis values <n> (at axis <n>) != <n> (at axis <n>) |
      The axes that are summed must have equal sizes, but axis {1} has size {0}, and axis {3} of the other input has
      size {2}.
  shape-mismatch for sum |
      With `axes=n`, tensordot sums over the last n axes of the first operand and the first n axes of the second, which
      must have equal sizes. To sum over other axes, pass two lists, for example `axes=([1], [1])`.
  must have same number of batches | matrices are not aligned | inconsistent tensor size, expected tensor | matmul input
      shapes are incompatible | mat1 dim 1 must match mat2 dim 0 | valueerror: dimension mismatch | the same batch size
      in bmmop | for batchmatmul, inputs shape | dot shape error |
linear-algebra: The arguments of this linear algebra function do not fit each other.
  with gufunc signature <...> (size <n> is different from <n>) |
      In the signature {0}, the sizes {1} and {2} have the same letter, so they must be equal.
  of a and b for the equation ax = b (<n>x<n> and <n>x<n>) |
      A and B must have the same number of rows, but A has {0}, and B has {2}.
  incompatible dimensions for cross product |
      A cross product needs size 2 or 3 on the last axis, or on the axis given by `axis`.
chunks: The chunks of a Dask array do not add up to its shape. Perhaps the operands do not broadcast: check their
      shapes.
  chunks do not add up to shape. got chunks=<...>, shape=<s> | + The chunks are {0}, and the shape is {1}.
einops: The einops pattern does not fit the input, or its two sides do not fit each other.
  -reduction pattern " |
loss: This loss does not broadcast: the target must have the shape that the loss requires.
  target size (<s>) must be the same as input size (<s>) | using a target size (<s>) that is different to the input size
      (<s>) is deprecated. |
      The target has shape {0}, but the input has shape {1}. This loss does not broadcast. =target
  expected input batch_size (<n>) to match target batch_size (<n>) |
      The input has {0} rows, but the target has {1}. Each row needs one target.
  expected target size <s>, got <s> |
      The target has shape {1}, but must have shape {0}: the shape of the input without the class axis, which is axis 1.
      If the classes are on the last axis of the input, pass `input.movedim(-1, 1)`.
  0d or 1d target tensor expected, multi-target not supported |
      The target needs one class index for each row. If its last axis has size 1, write `[[target||1]].squeeze(-1)`.
  y_true and y_pred have different number of output (<n>!=<n>) |
      The targets have {0} columns, but the predictions have {1}.
  `target` and `output` must have the same shape. received: target.shape=<p>, output.shape=<p> |
      The target has shape {0}, but the output has shape {1}. This loss does not broadcast.
  `target` and `output` must have the same rank (ndim). received: target.shape=<p>, output.shape=<p> |
      The target has shape {0}, but the output has shape {1}. They must have the same number of axes. =keras_target
  `logits` and `labels` must have the same shape, received (<p> vs <p>) | logits and labels must have the same first
      dimension, got logits shape <s> and labels shape <s> |
      The logits have shape {0}, but the labels have shape {1}. This loss does not broadcast.
  `labels.shape` must equal | input(logits) and input(label) | var is of incorrect size | must have rank (ndim)
      `target.ndim |
vmap: The mapped axes of vmap or scan must have the same size.
  got sizes <s> for the mapped dimension |
      The mapped axes of vmap or scan must have the same size, but they have sizes {0}.
  different leading axis sizes: <n>, <n> |
      The mapped axes of vmap or scan must have the same size, but they have sizes {0} and {1}.
  vmap got inconsistent |
split: An axis can't be split into these parts: their sizes must add up to its size, or their number must divide it.
  split_sizes to sum exactly to <n> (input tensor's size at dimension <n>), but got split_sizes=<s> |
      Axis {1} has size {0}, but the sizes of the parts, {2}, do not add up to it.
  does not result in an equal division |
      The number of parts must divide the size of the axis. `numpy.array_split` allows parts of different sizes.
  evenly divide the split | along the split dimension must be | evenly divisible by 'num_splits' | chunk expects |
      number of splits must evenly divide |
square-matrix: The matrix must be square.
  batches of square matrices, but they are <n> by <n> matrices | The matrices must be square, but they are {0} by {1}.
  must be square | must be a square matrix | must have shape [..., n, n] | the last two dimensions are expected to be
      equal |
one-value: The array has several values, but one value is expected.
  defined for scalar-output functions | The function must return a scalar. Reduce its result, for example with `.sum()`.
  grad can be implicitly created only for scalar outputs |
      `backward` needs a scalar. Reduce the result first, as in `x.sum().backward()`, or pass `gradient`.
  truth value of a | boolean value of tensor | converted to python scalars | cannot be converted to scalar |
nested-list: The rows of a nested list have different lengths.
  expected sequence of length <n> at dim <n> (got <n>) |
      All lists on axis {1} must have the same length, but the first has {0} elements, and another has {2}.
  non-rectangular python sequence | setting an array element with a sequence |
same-shape: This operation does not broadcast: its inputs must have the same shape.
  the variable shape <s>, and the assigned value shape <s> are incompatible |
      The variable has shape {0}, but the value has shape {1}. An assignment does not broadcast here. =assigned
  shapes <p> and <p> are incompatible | + The shapes are {0} and {1}.
  must be scalar or have the same shape as cases | clamp requires min.shape | incompatible attr in node | shapes must be
      equal | operator where inferring shapes failed | not compatible with expected shape | as many biases as the last
      dimension | mismatch) actual | inferred shape and existing shape differ | valueerror: inconsistent shapes |
      inferred and declared dimension have different values | passed to tf.addn() must have | error in meansquarederror
      |
pandas: In pandas, the number of values must match the number of rows or columns.
  unable to coerce to series, length must be <n>: given <n> |
      In pandas, an array is combined with each row, so it needs {0} values, not {1}. To combine it with each column,
      use a method with `axis=0`, for example `[[frame||0]].[[method]]([[array||1]], axis=0)`.
  unable to coerce to dataframe, shape must be <s>: given <s> |
      The array has shape {1}, but must have the shape of the frame, {0}.
  length of values (<n>) does not match length of index (<n>) |
      The frame has {1} rows, but {0} values are assigned. Assign {1} values, or a Series, which is aligned by its
      index.
  item wrong length <n> instead of <n> | boolean index has wrong length: <n> instead of <n> |
      The mask has {0} values, but the frame has {1} rows.
  shape of passed values is <s>, indices imply <s> |
      The values have shape {0}, but the index and the columns need shape {1}.
  length mismatch: expected axis has <n> elements, new values have <n> elements |
      The axis needs {0} labels, but {1} are given.
  lengths must match to compare', <s>, <s> |
      Compared values must have the same length, but they have shapes {0} and {1}.
  identically-labeled |
      Two Series or frames can be compared with `==` only if their labels are equal. The method `eq` aligns the labels
      first.
  all arrays must be of the same length |
      Each array is a column of the frame, and all columns need the same number of rows.
  columns must be same length as key | The assigned value must have as many columns as names are given for them.
  cannot set a row with mismatched columns |
polars: In Polars, all columns of a frame need the same number of rows.
  height of column '<w>' (<n>) does not match height of column '<w>' (<n>) |
      Column {0} has {1} rows, but column {2} has {3}.
  can't broadcast series '<w>' of length <n> to length <n> | The series {0} has {1} values, but the frame has {2} rows.
  filter's length: <n> differs from that of the series: <n> | The filter has {0} values, but the frame has {1} rows.
  to a dataframe of width <n> with a dataframe of width <n> |
      Frames that are stacked must have the same number of columns, but they have {0} and {1}.
pairs: The arguments must have the same length.
  x and y must have same first dimension, but have shapes <s> and <s> |
      x and y must have the same size on the first axis, but they have shapes {0} and {1}.
  inconsistent numbers of samples: [<n>, <n>] |
      The arguments must have the same number of rows, but the first has {0}, and the second has {1}. Check that both
      are selected from the data in the same way.
  inconsistent numbers of samples: [<...>] | The arguments must have the same number of rows, but they have {0}.
  same number of samples.'x' sizes: <n> 'y' sizes: <n> |
      x and y must have the same number of rows, but x has {0}, and y has {1}.
  series of different lengths: got <n> and <n> |
      The series must have the same length, but their lengths are {0} and {1}.
  sample_weight.shape == <s>, expected <s> | `sample_weight` has shape {0}, but must have shape {1}.
  size mismatch between tensors | All tensors must have the same size on the first axis.
  must have the same number of columns | Both arrays must have the same number of columns.
  must be equal in length along | x and y must be the same size | expected x and y to have same length | fp and xp are
      not of the same length | xp and fp must be one-dimensional arrays of equal size | data cardinality is ambiguous |
      weights should have the same shape | shape of weights must be consistent | shapes of a and weights differ |
xarray: In xarray, a dimension must have the same size everywhere.
  conflicting sizes for dimension '<w>': length <n> on the data but length <n> on coordinate '<w>' |
      Dimension {0} has size {1} in the data, but coordinate {3} has {2} values. Pass {1} values.
  conflicting sizes for dimension '<w>': length <n> on <...> and length <n> on |
      Dimension {0} has sizes {1} and {3}, but must have the same size everywhere.
rank: The array has the wrong number of axes for this function.
  expected 2d array, got 1d array instead |
      The function needs two axes. For one column, write `[[x||0]].reshape(-1, 1)`. For one row, write
      `[[x||0]].reshape(1, -1)`.
  input operand <n> does not have enough dimensions (has <n>, gufunc core with signature <...> requires <n> |
      Operand {0} has {1} axes, but the function needs at least {3}.
  data must be 1-dimensional, got ndarray of shape <s> |
      The array has shape {0}, but must have only one axis. Write `[[x||0]].ravel()`.
  should be a 1d array, got an array of shape <s> | The array has shape {0}, but must have only one axis.
  found array with dim <n>, while dim <= <n> is required |
      The array has {0} axes, but at most {1} are allowed. Write `[[x||0]].reshape(len([[x||0]]), -1)`.
  different number of dimensions on data and dims: <n> vs <n> | The array has {0} axes, but {1} names are given.
  convolve2d inputs must both be 2-d arrays | does not have enough dimensions | mat2 must be a matrix | must be a 3d
      tensor | 1d tensors expected | expects a tensor with <= 2 dimensions | shape must be rank | ] ndims must be >= |
      inputs must have the same number of dimensions | implies that its rank should be at least | got arrays of
      different rank | must be greater or equal to the number of dimensions in the tensor |
model-input: An input of a model must have the shape that the model declares.
  got invalid dimensions for input: <...> for the following indices index: <n> got: <n> expected: <n> |
      Axis {1} of input {0} has size {2}, but the model declares size {3}.
  invalid rank for input: <...> got: <n> expected: <n> | Input {0} has {1} axes, but the model declares {2}.
  got invalid dimensions for input: | invalid rank for input: |
empty: The array is empty.
  zero-size array to reduction operation | The array has no elements, but the reduction needs at least one.
  need at least one array to | expects a non-empty tensorlist | The list of arrays is empty.
negative-size: A size is negative. Only some functions, such as reshape, accept -1 as a size.
  negative dimensions are not allowed | with negative dimension | dimension size must be non-negative |
devices: This error is about devices, not shapes: move all operands to the same device.
  tensors to be on the same device |
gradient: A gradient must have the shape of the tensor that it belongs to.
  returned an invalid gradient at index <n> - got <s> but expected shape compatible with <s> |
      The gradient has shape {1}, but must have the shape of its tensor, {2}.
  grad_output[<n>] has a shape of <s> and output[<n>] has a shape of <s> |
      The gradient has shape {1}, but must have the shape of the result, {3}.
jax: In a function that JAX traces, shapes and branches can't depend on values, and types must not change.
  jax arrays are immutable |
      JAX arrays can't be changed in place. Use `x.at[index].set(value)`, which returns a new array.
  jax.errors. | scan body function carry | true_fun and | shapes must be 1d sequences of concrete values |
tile: tile and repeat need a number of copies for each axis.
  expected multiples argument | number of dimensions of repeat dims | input has incorrect number of values | 'repeat'
      input tensor must have | broadcast together with shape ( | must match length of reps |
ggml: In ggml, on each axis, the size of the larger tensor must be a multiple of the size of the repeated tensor.
  ggml_assert(ggml_can_repeat( |
negative-copies: In tile or repeat, the number of copies must not be negative.
  'repeats' input must not contain negative | expected multiples[ | 'repeat_times' for tile op must be | for 'tile',
      'dims' cannot contain negative |
memory: The array is too large for the memory.
  unable to allocate | out of memory | resource exhausted |
unknown-wording: axiscast does not know this error, but it seems to be about shapes that do not broadcast. Print the
      shapes of the operands, and check them.
  cannot be broadcast | could not be broadcast | can't be broadcast | cannot broadcast | could not broadcast | not
      broadcastable | non-broadcastable | must be broadcastable | incompatible shapes | shapes are incompatible | of
      compatible size or scalars | arrays have incompatible sizes for this operation | matrix dimensions must agree |
"""
