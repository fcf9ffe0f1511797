// Calls functions of the page's modules for a test in Python: one line of JSON with module, name and arguments, one
// with what the function returned or has thrown.

import { createInterface } from "node:readline";

const STATIC = new URL("../../../static/", import.meta.url);

async function answer({ module, name, arguments: values }) {
  const found = (await import(new URL(module, STATIC).href))[name];
  try {
    return { returned: found(...values) };
  } catch (error) {
    return { thrown: error.constructor.name, text: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
