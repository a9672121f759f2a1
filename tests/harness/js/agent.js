'use strict';
// kafkajs, driven over standard input and output: one JSON request per line, one JSON answer per line.

const readline = require('node:readline');
const { randomUUID } = require('node:crypto');
const { CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs');

const TIMEOUT_MS = 30_000;
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };

// A consumer that has everything waits in its last fetch; it should notice soon that the test is over.
const MAX_WAIT_MS = 200;

const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING });
const admin = kafka.admin();
const members = new Map();
const producers = new Map();

const toText = (buffer) => (buffer === null || buffer === undefined ? null : buffer.toString('base64'));
const fromText = (text) => (text === null ? null : Buffer.from(text, 'base64'));

function toMessage(record, partition) {
  const headers = Object.fromEntries(record.headers.map(([name, value]) => [name, fromText(value)]));
  const message = { key: fromText(record.key), value: fromText(record.value), headers, partition };
  if (record.timestamp_ms !== null) message.timestamp = String(record.timestamp_ms);
  return message;
}

function describe({ partition, message }) {
  return {
    partition,
    offset: Number(message.offset),
    timestamp_ms: Number(message.timestamp),
    key: toText(message.key),
    value: toText(message.value),
    headers: Object.entries(message.headers ?? {}).map(([name, value]) => [name, toText(value)]),
  };
}

/** Runs a consumer until it has seen `count` messages that `accept` likes; then what `finish` does, then leaves. */
async function take(consumer, count, { accept = () => true, started = () => {}, finish = async () => {} }) {
  const taken = [];
  let timer;
  try {
    await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${taken.length} of ${count} records in time`)), TIMEOUT_MS);
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      consumer
        .run({
          autoCommit: false,
          eachMessage: async (delivery) => {
            if (taken.length < count && accept(delivery)) taken.push(describe(delivery));
            if (taken.length === count) resolve();
          },
        })
        .then(started, reject);
    });
    await finish(taken);
  } finally {
    clearTimeout(timer);
    await consumer.disconnect();
  }
  return taken;
}

const operations = {
  async produce({ topic, records, partition, acks, codec, idempotent }) {
    const producer = kafka.producer({ idempotent, allowAutoTopicCreation: true });
    await producer.connect();
    try {
      const messages = records.map((record) => toMessage(record, partition));
      await producer.send({ topic, messages, compression: CODECS[codec], acks: acks === 'all' ? -1 : Number(acks) });
    } finally {
      await producer.disconnect();
    }
    return null;
  },

  // kafkajs reads through groups alone, so a reader is a group of its own that seeks.
  async read({ topic, partition, offset, count, isolation }) {
    const consumer = kafka.consumer({
      groupId: `reader-${randomUUID()}`,
      maxWaitTimeInMs: MAX_WAIT_MS,
      readUncommitted: isolation === 'read_uncommitted',
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    return take(consumer, count, {
      accept: (delivery) => delivery.partition === partition && Number(delivery.message.offset) >= offset,
      started: () => consumer.seek({ topic, partition, offset: String(offset) }),
    });
  },

  async consume({ topic, group, count }) {
    const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: MAX_WAIT_MS });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    return take(consumer, count, {
      finish: async (taken) => {
        const next = new Map();
        for (const { partition, offset } of taken) next.set(partition, offset + 1);
        await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) })));
      },
    });
  },

  async transactions_open({ transactional_id, timeout_ms }) {
    const producer = kafka.producer({
      transactionalId: transactional_id,
      transactionTimeout: timeout_ms,
      idempotent: true,
      maxInFlightRequests: 1,
    });
    await producer.connect();
    try {
      // Its first transaction initialises it; one that holds nothing is ended without a request.
      const empty = await producer.transaction();
      await empty.abort();
    } catch (refused) {
      await producer.disconnect();
      throw refused;
    }
    const name = `producer-${producers.size}`;
    producers.set(name, { producer, transaction: null });
    return name;
  },

  async transactions_begin({ producer }) {
    const found = producers.get(producer);
    found.transaction = await found.producer.transaction();
    return null;
  },

  async transactions_send({ producer, topic, partition, values }) {
    const messages = values.map((value) => ({ value: fromText(value), partition }));
    await producers.get(producer).transaction.send({ topic, messages });
    return null;
  },

  async transactions_send_offset({ producer, group, topic, partition, offset }) {
    const topics = [{ topic, partitions: [{ partition, offset: String(offset) }] }];
    await producers.get(producer).transaction.sendOffsets({ consumerGroupId: group, topics });
    return null;
  },

  async transactions_commit({ producer }) {
    await producers.get(producer).transaction.commit();
    return null;
  },

  async transactions_abort({ producer }) {
    await producers.get(producer).transaction.abort();
    return null;
  },

  async transactions_close({ producer }) {
    await producers.get(producer).producer.disconnect();
    return null;
  },

  async member_start({ topic, group, heartbeat_interval_ms, session_timeout_ms }) {
    const consumer = kafka.consumer({
      groupId: group,
      heartbeatInterval: heartbeat_interval_ms,
      sessionTimeout: session_timeout_ms,
      maxWaitTimeInMs: MAX_WAIT_MS,
    });
    const member = { consumer, assignment: [], revocations: 0 };
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      member.assignment = payload.memberAssignment[topic] ?? [];
    });
    consumer.on(consumer.events.REBALANCING, () => {
      member.revocations += 1;
      member.assignment = [];
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachMessage: async () => {} });
    const name = `member-${members.size}`;
    members.set(name, member);
    return name;
  },

  async member_look({ member }) {
    const { assignment, revocations } = members.get(member);
    return { assignment, revocations };
  },

  async member_close({ member }) {
    await members.get(member).consumer.disconnect();
    return null;
  },

  async offset_at({ topic, partition, timestamp_ms }) {
    const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp_ms);
    return Number(offsets.find((found) => found.partition === partition).offset);
  },

  async committed({ group, topic, partition }) {
    const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
    const offset = Number(partitions.find((found) => found.partition === partition)?.offset ?? -1);
    return offset < 0 ? null : offset;
  },

  async create_topic({ topic, partitions, configs }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
    const created = await admin.createTopics({
      topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }],
    });
    if (!created) throw new Error('topic already exists');
    return null;
  },

  async delete_topic({ topic }) {
    await admin.deleteTopics({ topics: [topic] });
    return null;
  },

  async topics() {
    const { topics } = await admin.fetchTopicMetadata();
    return Object.fromEntries(topics.map(({ name, partitions }) => [name, partitions.length]));
  },

  async add_partitions({ topic, total }) {
    await admin.createPartitions({ topicPartitions: [{ topic, count: total }] });
    return null;
  },

  async topic_config({ topic, name }) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: [name] };
    const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    return resources[0].configEntries.find((entry) => entry.configName === name).configValue;
  },

  async set_topic_config({ topic, name, value }) {
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] };
    await admin.alterConfigs({ validateOnly: false, resources: [resource] });
    return null;
  },

  async groups() {
    return (await admin.listGroups()).groups.map(({ groupId }) => groupId);
  },

  async describe_group({ group }) {
    const { groups } = await admin.describeGroups([group]);
    return [groups[0].state, groups[0].members.length];
  },

  async delete_group({ group }) {
    await admin.deleteGroups([group]);
    return null;
  },

  async delete_records({ topic, partition, before_offset }) {
    // kafkajs looks for the leader before it asks for one; this call makes it ask.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before_offset) }] });
    return null;
  },
};

async function main() {
  await admin.connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { op, args } = JSON.parse(line);
    let answer;
    try {
      answer = { result: await operations[op](args) };
    } catch (failure) {
      answer = { error: failure.stack ?? String(failure) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await admin.disconnect();
}

main();
