// Receives a tensor of 12 TB as 24 bytes: its distinct elements and their strides. node strided.mjs URL
import { decode, encode } from "@msgpack/msgpack";

const column = new Float64Array([10, 20, 30]);
const answer = await fetch(`${process.argv[2]}/v1/broadcast`, {
  method: "POST",
  headers: { "Content-Type": "application/vnd.msgpack" },
  body: encode({
    op: { name: "numpy.broadcast_to", shape: [3, 500_000_000_000] },
    inputs: [{ dtype: "float64", shape: [3, 1], data: new Uint8Array(column.buffer) }],
    layout: "strided",
  }),
});
const body = decode(await answer.arrayBuffer());
if (!answer.ok) throw new Error(body.detail);
const [{ shape, strides, data }] = body.broadcast_inputs;
const values = new Float64Array(data.slice().buffer);
const at = (...index) => values[index.reduce((sum, position, axis) => sum + position * strides[axis], 0)];
console.log(shape, strides, data.length, at(0, 7), at(2, 499_999_999_999));
