// Reads a dense tensor of 100 MB while it arrives: node streamed.mjs URL
import { encode } from "@msgpack/msgpack";

const row = Float32Array.from({ length: 1000 }, (_, number) => number);
const answer = await fetch(`${process.argv[2]}/v1/broadcast`, {
  method: "POST",
  headers: { "Content-Type": "application/vnd.msgpack" },
  body: encode({
    op: { name: "numpy.broadcast_to", shape: [25_000, 1000] },
    inputs: [{ dtype: "float32", shape: [1000], data: new Uint8Array(row.buffer) }],
  }),
});
if (!answer.ok) throw new Error(`status ${answer.status}`);

// The body is {"broadcast_inputs": [{"dtype", "shape", "data": bin}]}. A bin is 0xc6, its length in four bytes, and its bytes.
// Data of more than 1 GiB is a list of bins.
const DATA = Buffer.from([0xa4, ...Buffer.from("data"), 0xc6]);
let rest = Buffer.alloc(0); // received bytes that have not been read
let left; // bytes of the bin that have not been read
let sum = 0;
for await (const piece of answer.body) {
  rest = Buffer.concat([rest, piece]);
  if (left === undefined) {
    const start = rest.indexOf(DATA) + DATA.length;
    if (start < DATA.length || rest.length < start + 4) continue;
    left = rest.readUInt32BE(start);
    rest = rest.subarray(start + 4);
  }
  const whole = Math.min(rest.length, left) & ~3;
  for (let place = 0; place < whole; place += 4) sum += rest.readFloatLE(place);
  left -= whole;
  rest = rest.subarray(whole);
}
if (left !== 0) throw new Error("the response is incomplete");
console.log(answer.headers.get("content-length"), "bytes came; the sum is", sum);
