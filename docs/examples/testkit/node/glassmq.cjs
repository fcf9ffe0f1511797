// A RocketMQ broker for tests. It needs no package: only `glassmq` on PATH, and Node.js 18 or newer.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

/** Starts a broker; it ends with `stop()`, or with this process, whose pipe its standard input is. */
async function startGlassMQ() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'glassmq-'));
  const ready = path.join(folder, 'ready.json');
  const options = ['serve', '--ephemeral', '--exit-with-parent', '--ready-file', ready];
  const child = spawn('glassmq', options, { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = new Promise((resolve, reject) => child.on('exit', resolve).on('error', reject));
  let hasEnded = false;
  ended.then(() => { hasEnded = true; }, () => { hasEnded = true; });
  while (!fs.existsSync(ready)) {
    if (hasEnded) throw new Error(`glassmq did not start: exit code ${await ended}`);
    await sleep(20);
  }
  const addresses = JSON.parse(fs.readFileSync(ready, 'utf8'));

  /** Carries out an operation of /api/testkit; a failed check throws what was there. */
  async function call(method, operation, parameters) {
    const body = parameters && JSON.stringify(parameters);
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(addresses.api + operation, { method, body, headers });
    const reply = await answer.json();
    if (!answer.ok) throw new Error(reply.error);
    return reply;
  }

  async function stop() {
    child.stdin.end();
    await ended;
    fs.rmSync(folder, { recursive: true });
  }

  return { nameServer: addresses.name_server_address, call, stop };
}

module.exports = { startGlassMQ };
