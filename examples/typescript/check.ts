// Checks whether shapes broadcast, and prints the output or the fix: node check.ts URL SHAPE...
import process from "node:process";
import createClient from "openapi-fetch";
import type { paths } from "./axiscast_api.ts";

const [service, ...shapes] = process.argv.slice(2);
const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: service! });
const { data, error } = await client.GET("/v1/check", { params: { query: { input: shapes } } });
if (!data) throw new Error(error.detail);
if (data.compatible === false) {
  console.log(data.conflict!.message);
  for (const { message } of data.conflict!.hints ?? []) console.log(`hint: ${message}`);
} else {
  console.log(`${shapes.join(" and ")} broadcast to (${data.shape!.join(", ")})`);
}
