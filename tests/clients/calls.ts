// Calls of every endpoint with openapi-fetch and the types that openapi-typescript makes: node calls.ts URL.
// The type of CALLS has a name for each operation of the document: tsc refuses this file where one is not called.

import assert from "node:assert/strict";
import process from "node:process";
import createClient from "openapi-fetch";
import type { components, operations, paths } from "./built/axiscast_api.ts";

const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: process.argv[2]! });
const rows: components["schemas"]["OpWithShapeAndBroadcastAxes"] = { name: "ngraph.Broadcast", shape: [2, 3], broadcast_axes: [0] };

const CALLS: Record<keyof operations, () => Promise<void>> = {
  async check() {
    const { data } = await client.POST("/v1/check", { body: { inputs: [[8, 1, 6, 1], [7, 1, 5]] } });
    assert.deepEqual(data?.shape, [8, 7, 6, 5]);
    const answer = await client.POST("/v1/check", { body: { op: rows, inputs: [[3]] } });
    assert.deepEqual(answer.data?.broadcast_inputs?.[0]?.broadcast_axes, [0]);
  },
  async check_in_url() {
    const { data } = await client.GET("/v1/check", {
      params: { query: { input: ["2,64,7,7", "64"], op: "numpy.add", explain: true } },
    });
    assert.equal(data?.compatible, false);
    const body = data.conflict?.hints?.[0]?.request;
    assert(body);
    assert.deepEqual(body.op, { name: "numpy.add" });
    assert.deepEqual(body.inputs, [[2, 64, 7, 7], [64, 1, 1]]);
    assert.deepEqual((await client.POST("/v1/check", { body })).data?.shape, [2, 64, 7, 7]);
    assert.match(data.diagram ?? "", /conflict/);
    const attributes = { mode: "explicit", target_shape: "2,3", axes_mapping: "1" } as const;
    const explicit = await client.GET("/v1/check", {
      params: { query: { input: ["3"], op: "openvino.Broadcast-1", attributes } },
      querySerializer: { object: { style: "form", explode: true } },
    });
    assert.deepEqual(explicit.data?.outputs?.[0]?.shape, [2, 3]);
  },
  async check_batch() {
    const requests = [{ op: rows, inputs: [["N"]] }, { op: "no.op", inputs: [] }];
    const { data } = await client.POST("/v1/check/batch", { body: { requests } });
    const [first, second] = data!.results!;
    assert(first && "compatible" in first && second && "error" in second);
    assert.equal(first.compatible, null);
    assert.equal(second.error.code, "unknown-op");
  },
  async check_columns() {
    const inputs = [{ shape: [2, 2], data: [[3, 1], [5, 4]] }, { shape: [2, 1], data: [4, 3] }];
    const { data } = await client.POST("/v1/check/columns", { body: { op: "numpy.broadcast_arrays", inputs } });
    assert.deepEqual(data?.compatible.data, [true, false]);
    assert.deepEqual(data.shape?.data, [[3, 4], [-1, -1]]);
  },
  async broadcast() {
    const inputs = [{ dtype: "float32", shape: [3], data: [1, 2, 3] }];
    const { data } = await client.POST("/v1/broadcast", { body: { op: rows, inputs } });
    assert.deepEqual(data?.broadcast_inputs[0]?.data, [[1, 2, 3], [1, 2, 3]]);
    const strided = await client.POST("/v1/broadcast", { body: { op: rows, inputs, layout: "strided" } });
    assert.deepEqual(strided.data?.broadcast_inputs[0]?.strides, [0, 1]);

    const { error } = await client.POST("/v1/broadcast", { body: { op: rows, inputs: [{ shape: [2], data: [1, 2] }] } });
    assert.equal(error?.code, "incompatible-shapes");
    assert.equal(error.conflict?.axis, 1);
  },
  async backprop() {
    const gradients = [{ shape: [2, 3], data: [[1, 2, 3], [10, 20, 30]] }];
    const { data } = await client.POST("/v1/backprop", { body: { op: rows, inputs: [[3]], gradients } });
    assert.deepEqual(data?.gradients[0]?.data, [11, 22, 33]);
  },
  async compare() {
    const { data } = await client.POST("/v1/compare", { body: { inputs: [[1, 3]], shape: [2, -1] } });
    const verdicts = new Map(data?.results.map((result) => [result.op["name"], result.compatible]));
    assert.equal(verdicts.get("mindspore.broadcast_to"), true);
    assert.equal(verdicts.get("numpy.broadcast_to"), false);
  },
  async translate() {
    const to = "stablehlo.broadcast_in_dim";
    const { data } = await client.POST("/v1/translate", { body: { op: rows, inputs: [[3]], to } });
    const said = data?.steps[0]?.op;
    assert(said?.name === to);
    assert.deepEqual(said.broadcast_dimensions, [1]);
  },
  async why() {
    const text = "operands could not be broadcast together with shapes (3,4) (5,)";
    const { data } = await client.POST("/v1/why", { body: { text } });
    assert.deepEqual(data?.inputs, [[3, 4], [5]]);
    assert.equal(data?.check?.compatible, false);
  },
  async ops() {
    const { data } = await client.GET("/v1/ops");
    assert.equal(data?.ops[0]?.name, "numpy.broadcast_arrays");
  },
  async op() {
    const { data } = await client.GET("/v1/ops/{name}", { params: { path: { name: "openvino.Broadcast-1" } } });
    assert.equal(data?.target, "target_shape");
    const { error } = await client.GET("/v1/ops/{name}", { params: { path: { name: "no.op" } } });
    assert.equal(error?.status, 404);
  },
};

for (const [name, call] of Object.entries(CALLS)) {
  await call();
  console.log(`typescript: ${name}`);
}
