'use strict';
// Clients of registries in JavaScript, driven over standard input and output as agent.js is. Records travel by kafkajs.

const readline = require('node:readline');
const { randomUUID } = require('node:crypto');
const { Kafka, logLevel } = require('kafkajs');

const TIMEOUT_MS = 30_000;
const MAX_WAIT_MS = 200;

const [library, bootstrap, registryUrl] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING });

/** @kafkajs/confluent-schema-registry: what kafkajs's own documentation names. */
function kafkajsRegistry() {
  const { SchemaRegistry, SchemaType } = require('@kafkajs/confluent-schema-registry');
  const registry = new SchemaRegistry({ host: registryUrl });
  return {
    async writer({ topic, kind, schema }) {
      const subject = `${topic}-value`;
      const { id } = await registry.register({ type: SchemaType[kind], schema }, { subject });
      return (value) => registry.encode(id, value);
    },
    async reader() {
      return (data) => registry.decode(data);
    },
  };
}

/** @confluentinc/schemaregistry: Confluent's own. */
function confluentRegistry() {
  const {
    AvroDeserializer, AvroSerializer, JsonDeserializer, JsonSerializer, SchemaRegistryClient, SerdeType,
  } = require('@confluentinc/schemaregistry');
  const client = new SchemaRegistryClient({ baseURLs: [registryUrl] });
  const kinds = {
    AVRO: [AvroSerializer, AvroDeserializer],
    JSON: [JsonSerializer, JsonDeserializer],
  };
  return {
    async writer({ topic, kind, schema }) {
      await client.register(`${topic}-value`, { schemaType: kind, schema });
      const serializer = new kinds[kind][0](client, SerdeType.VALUE, { useLatestVersion: true });
      return (value) => serializer.serialize(topic, value);
    },
    async reader({ topic, kind }) {
      const deserializer = new kinds[kind][1](client, SerdeType.VALUE, {});
      return (data) => deserializer.deserialize(topic, data);
    },
  };
}

const registry = { kafkajs: kafkajsRegistry, confluent: confluentRegistry }[library]();

const operations = {
  async write({ topic, kind, schema, values }) {
    const encode = await registry.writer({ topic, kind, schema });
    const producer = kafka.producer();
    await producer.connect();
    const messages = await Promise.all(values.map(async (value) => ({ value: await encode(value), partition: 0 })));
    await producer.send({ topic, messages });
    await producer.disconnect();
    return null;
  },

  async read({ topic, kind, count }) {
    const decode = await registry.reader({ topic, kind });
    const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, maxWaitTimeInMs: MAX_WAIT_MS });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const taken = [];
    let timer;
    try {
      await new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`${taken.length} of ${count} records in time`)), TIMEOUT_MS);
        consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
        consumer
          .run({
            autoCommit: false,
            eachMessage: async ({ message }) => {
              if (taken.length < count) taken.push(message.value);
              if (taken.length === count) resolve();
            },
          })
          .catch(reject);
      });
    } finally {
      clearTimeout(timer);
      await consumer.disconnect();
    }
    return Promise.all(taken.map(decode));
  },
};

async function main() {
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
  process.exit(0);
}

main();
