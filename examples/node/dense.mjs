// Sends a dense tensor and receives one: node dense.mjs URL
import { decode, encode } from "@msgpack/msgpack";

const row = new Float32Array([1, 2, 3]);
const answer = await fetch(`${process.argv[2]}/v1/broadcast`, {
  method: "POST",
  headers: { "Content-Type": "application/vnd.msgpack" },
  body: encode({
    op: { name: "numpy.broadcast_to", shape: [2, 3] },
    inputs: [{ dtype: "float32", shape: [3], data: new Uint8Array(row.buffer) }], // little-endian, like most machines
  }),
});
const body = decode(await answer.arrayBuffer());
if (!answer.ok) throw new Error(body.detail);
const [{ dtype, shape, data }] = body.broadcast_inputs;
// A copy, because a Float32Array needs an offset that is a multiple of four.
const values = new Float32Array(data.slice().buffer);
console.log(dtype, shape, [...values]);
