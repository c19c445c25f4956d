// Runs modules that use TensorFlow.js. interpreter.py describes the lines that are read and written.
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.cwd(), "here.js")); // the folder with TensorFlow.js
const tf = require("@tensorflow/tfjs");
const write = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

async function run(job, number) {
  const names = Object.keys(job.inputs);
  const tensors = Object.values(job.inputs).map(({ data, shape, dtype }) => tf.tensor(data, shape, dtype));
  const file = join(process.cwd(), `job-${process.pid}-${number}.mjs`);
  globalThis.inputs = tensors;
  const text = `const [${names}] = globalThis.inputs;\n${job.code}\nexport const outputs = [${job.outputs}];\n`;
  writeFileSync(file, text);
  try {
    const { outputs } = await import(pathToFileURL(file));
    return { outputs: outputs.map((tensor) => ({ shape: tensor.shape, data: [...tensor.dataSync()] })) };
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  } finally {
    rmSync(file);
  }
}

let number = 0;
write({ version: tf.version.tfjs });
for await (const line of createInterface({ input: process.stdin })) {
  write(await run(JSON.parse(line), (number += 1)));
  tf.disposeVariables();
}
