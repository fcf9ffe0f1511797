// Drives the npm client ali-ons from a process of its own. Each report is one line of JSON on standard output.
//   node ali_ons.cjs send    NAME_SERVER GROUP TOPIC COUNT [BODY_BYTES]
//   node ali_ons.cjs consume NAME_SERVER GROUP TOPIC          (until SIGTERM)
//   node ali_ons.cjs accountable NAME_SERVER GROUP TOPIC FORBIDDEN_TOPIC    with ACCESS_KEY and SECRET_KEY (until SIGTERM)
'use strict';

const httpclient = require('urllib');
const { Consumer, Message, Producer } = require('ali-ons');

const [action, nameServer, group, topic, count = '1', bodyBytes = '0'] = process.argv.slice(2);
const SENDS_AT_A_TIME = 10;
// The library's default of 3 s would turn a stall of a busy machine into a failed or a repeated send.
const SEND_TIMEOUT_MS = 30000;

const report = event => process.stdout.write(JSON.stringify(event) + '\n');
const fail = error => {
  report({ event: 'failed', error: String(error && error.stack || error) });
  process.exit(1);
};

const options = {
  httpclient,
  nameSrv: nameServer,
  accessKeyId: process.env.ACCESS_KEY || 'none',
  accessKeySecret: process.env.SECRET_KEY || 'none',
  logger: { info() {}, debug() {}, warn: (...text) => console.error(...text), error: (...text) => console.error(...text) },
};

async function sendOne(producer, number) {
  const message = new Message(topic, 'TagA', `message-${number}`.padEnd(Number(bodyBytes), 'x'));
  message.keys = [`key-${number}`];
  const result = await producer.send(message);
  report({
    event: 'sent', number, status: result.sendStatus, id: result.msgId,
    queue: Number(result.messageQueue.queueId), offset: Number(result.queueOffset),
  });
}

async function send() {
  const producer = new Producer({ ...options, producerGroup: group, sendMsgTimeout: SEND_TIMEOUT_MS });
  producer.on('error', fail);
  await producer.ready();
  report({ event: 'ready' });
  for (let first = 0; first < Number(count); first += SENDS_AT_A_TIME) {
    const last = Math.min(first + SENDS_AT_A_TIME, Number(count));
    const numbers = Array.from({ length: last - first }, (_, i) => first + i);
    await Promise.all(numbers.map(number => sendOne(producer, number)));
  }
  report({ event: 'done' });
  await producer.close();
  process.exit(0);
}

async function consume() {
  const consumer = new Consumer({ ...options, consumerGroup: group });
  consumer.on('error', error => report({ event: 'trouble', error: String(error) }));
  consumer.subscribe(topic, '*', async message => report({
    event: 'message', body: message.body.toString().slice(0, 200), body_bytes: message.body.length,
    queue: message.queueId, offset: Number(message.queueOffset), id: message.msgId,
    tags: message.tags, reconsume_times: message.reconsumeTimes,
  }));
  await consumer.ready();
  report({ event: 'ready' });
  process.on('SIGTERM', async () => {
    await consumer.close();
    report({ event: 'done' });
    process.exit(0);
  });
}

// Sends a plain, a delayed and a failing message, and one that its account may not send; consumes the first three.
async function accountable() {
  const consumer = new Consumer({ ...options, consumerGroup: group });
  consumer.on('error', error => report({ event: 'trouble', error: String(error) }));
  consumer.subscribe(topic, '*', async message => {
    report({ event: 'message', body: message.body.toString(), reconsume_times: message.reconsumeTimes, at: Date.now() });
    if (message.body.toString() === 'failing' && message.reconsumeTimes === 0) {
      throw new Error('not this time');
    }
  });
  await consumer.ready();
  const producer = new Producer({ ...options, producerGroup: `${group}_producer`, sendMsgTimeout: SEND_TIMEOUT_MS });
  producer.on('error', fail);
  await producer.ready();
  for (const [body, delay] of [['plain', 0], ['delayed', 2], ['failing', 0]]) {
    const message = new Message(topic, 'TagA', body);
    if (delay) message.delayTimeLevel = delay;
    const at = Date.now();   // before the broker stores it: no delay is shorter than from then on
    const result = await producer.send(message);
    report({ event: 'sent', body, status: result.sendStatus, at });
  }
  const forbidden = new Message(count, 'TagA', 'forbidden');
  await producer.send(forbidden).then(
    result => report({ event: 'sent', body: 'forbidden', status: result.sendStatus, at: Date.now() }),
    error => report({ event: 'refused', error: String(error && error.message || error) }),
  );
  process.on('SIGTERM', async () => {
    await producer.close();
    await consumer.close();
    report({ event: 'done' });
    process.exit(0);
  });
}

({ send, consume, accountable })[action]().catch(fail);
