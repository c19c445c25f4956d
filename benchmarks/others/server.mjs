// Shape checks with node's own http: node server.mjs PORT
import { createServer } from "node:http";

function check(inputs) {
  const rank = Math.max(...inputs.map((shape) => shape.length));
  const whole = Array(rank).fill(1);
  for (const shape of inputs) {
    for (const [own, size] of shape.entries()) {
      const axis = rank - shape.length + own;
      if (whole[axis] === 1) whole[axis] = size;
      else if (size !== 1 && size !== whole[axis]) return { compatible: false, axis };
    }
  }
  const elements = whole.reduce((product, size) => product * size, 1);
  const broadcast_inputs = inputs.map((shape, input) => {
    const added = rank - shape.length;
    const axes = shape.map((_, own) => added + own);
    const broadcast_axes = whole.flatMap((size, axis) => (axis < added || shape[axis - added] !== size ? [axis] : []));
    return { input, shape: whole, axes, broadcast_axes };
  });
  const outputs = [{ shape: whole, elements }];
  return { compatible: true, shape: whole, outputs, broadcast_inputs, warnings: [] };
}

function reply(response, inputs) {
  const body = JSON.stringify(check(inputs));
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    const texts = new URLSearchParams(request.url.slice(request.url.indexOf("?"))).getAll("input");
    return reply(response, texts.map((text) => text.split("x").map(Number)));
  }
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => reply(response, JSON.parse(Buffer.concat(parts)).inputs));
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2]), "127.0.0.1");
