// Computes a result of 64 MiB in windows. Each request has only the rows of x that its window needs: node windows.mjs URL
import { decode, encode } from "@msgpack/msgpack";

const [url] = process.argv.slice(2);
const x = Float32Array.from({ length: 64 * 256 }, (_, number) => number); // the shape is (64, 1, 256)
const [rows, columns, size] = [64, 1024, 256]; // the shape of the result
const [rowStep, columnStep] = [16, 256]; // a window has 4 MiB

// x is replicated on axis 1, so a window needs the rows of x on axis 0, and the target is the shape of the window.
async function readWindow(row, column, tries = 3) {
  const body = encode({
    op: { name: "numpy.broadcast_to", shape: [rowStep, columnStep, size] },
    inputs: [{ dtype: "float32", shape: [rowStep, 1, size], data: new Uint8Array(x.buffer, row * size * 4, rowStep * size * 4) }],
  });
  try {
    const headers = { "Content-Type": "application/vnd.msgpack" };
    const answer = await fetch(`${url}/v1/broadcast`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const [{ data }] = decode(await answer.arrayBuffer()).broadcast_inputs;
    return { sent: body.length, values: new Float32Array(data.slice().buffer) };
  } catch (error) {
    if (tries === 1) throw error;
    await new Promise((done) => setTimeout(done, 1000)); // every request may be sent again
    return readWindow(row, column, tries - 1);
  }
}

const windows = [];
for (let row = 0; row < rows; row += rowStep)
  for (let column = 0; column < columns; column += columnStep) windows.push([row, column]);
let [sent, received, sum] = [0, 0, 0];
async function worker() {
  for (let next = windows.pop(); next; next = windows.pop()) {
    const found = await readWindow(...next);
    sent += found.sent;
    received += found.values.byteLength;
    for (const value of found.values) sum += value;
  }
}
await Promise.all([worker(), worker(), worker(), worker()]); // four connections
console.log(`${sent} bytes sent, ${received} bytes of the result received, their sum is ${sum}`);
