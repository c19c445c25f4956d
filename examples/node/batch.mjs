// Checks 100 pairs of shapes in one request, and prints the pairs that fail: node batch.mjs URL
const pairs = Array.from({ length: 100 }, (_, n) => [[8, n + 1, 7, 7], [n + 1, 1, 1]]);
pairs[17][1] = [18]; // does not fit
pairs[42][0] = [8, -1, 7, 7]; // not a shape

const answer = await fetch(`${process.argv[2]}/v1/check/batch`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ requests: pairs.map((inputs) => ({ op: "torch.add", inputs })) }),
});
const body = await answer.json();
if (!answer.ok) throw new Error(body.detail);
let failed = 0;
for (const [n, { compatible, conflict, error }] of body.results.entries()) {
  if (compatible) continue;
  failed += 1;
  console.log(`pair ${n}: ${error ? error.detail : conflict.message}`);
  for (const { message } of conflict?.hints ?? []) console.log(`  hint: ${message}`);
}
console.log(`${failed} of ${pairs.length} pairs failed`);
process.exitCode = failed ? 1 : 0;
