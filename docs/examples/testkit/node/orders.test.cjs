// Run by: node --test --test-force-exit, because the npm client ali-ons (with urllib) leaves timers behind.
'use strict';

const assert = require('node:assert');
const { after, afterEach, before, beforeEach, test } = require('node:test');
const httpclient = require('urllib');
const { Message, Producer } = require('ali-ons');
const { startGlassMQ } = require('./glassmq.cjs');

let glassmq;

before(async () => { glassmq = await startGlassMQ(); });
beforeEach(() => glassmq.call('POST', '/reset'));
afterEach(() => glassmq.call('DELETE', '/faults'));
after(() => glassmq.stop());

/** The service under test: it reminds of an order after two hours. */
async function remindOf(order) {
  const producer = new Producer({
    httpclient,
    nameSrv: glassmq.nameServer,
    producerGroup: 'shop',
    accessKeyId: 'none',
    accessKeySecret: 'none',
    logger: { info() {}, debug() {}, warn() {}, error() {} },
  });
  await producer.ready();
  const message = new Message('reminders', 'unpaid', 'pay, please');
  message.keys = [order];
  message.delayTimeLevel = 18;
  await producer.send(message);
  await producer.close();
}

test('a reminder comes after two hours', async () => {
  await glassmq.call('POST', '/topics', { topic: 'reminders' });
  await remindOf('17');
  assert.deepStrictEqual(await glassmq.call('GET', '/messages?topic=reminders'), { messages: [] });

  await glassmq.call('POST', '/advance', { hours: 2, seconds: 1 });

  const { messages } = await glassmq.call('POST', '/wait-for', { topic: 'reminders', key: '17' });
  assert.strictEqual(messages[0].body, 'pay, please');
});

test('a check that fails shows what was there', async () => {
  await assert.rejects(
    glassmq.call('POST', '/assert-sent', { topic: 'reminders', key: '17' }),
    /reminders does not have a message with key '17', but 0/,
  );
});
