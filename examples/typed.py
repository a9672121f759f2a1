"""A first topic with a type: register a schema, produce a record that fits it, consume it, refuse one that does not.

    python examples/typed.py [HOST:PORT] [REGISTRY_URL]

It needs `pip install 'confluent-kafka[avro,schemaregistry]'` and nothing of Ottla: this is what any client of a
registry does.
"""

import json
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "demo-payments"
SUBJECT = f"{TOPIC}-value"
TIMEOUT_S = 15.0

PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "payer", "type": "string"}, {"name": "cents", "type": "long"}],
}


def create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        admin.create_topics([NewTopic(TOPIC, num_partitions=1)])[TOPIC].result(TIMEOUT_S)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def produce(bootstrap: str, registry: SchemaRegistryClient) -> int:
    """Returns the offset of the record."""
    offsets: list[int] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        offsets.append(message.offset())

    serialize = AvroSerializer(registry, json.dumps(PAYMENT))
    payment = {"payer": "ada", "cents": 1250}
    value = serialize(payment, SerializationContext(TOPIC, MessageField.VALUE))
    found = registry.get_latest_version(SUBJECT)
    print(f"  registered  {SUBJECT} version {found.version}, id {found.schema_id}")
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce(TOPIC, value=value, on_delivery=on_delivery)
    if producer.flush(TIMEOUT_S):
        raise TimeoutError("the broker did not acknowledge everything")
    print(f"  produced    {payment} as {len(value)} bytes")
    return offsets[0]


def consume(bootstrap: str, registry: SchemaRegistryClient, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "demo-cashiers", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    deserialize = AvroDeserializer(registry)
    while True:
        message = consumer.poll(TIMEOUT_S)
        if message is None:
            raise TimeoutError("no record arrived")
        if message.error():
            raise KafkaException(message.error())
        if message.offset() >= offset:
            break
    print(f"  consumed    {deserialize(message.value(), SerializationContext(TOPIC, MessageField.VALUE))}")
    consumer.commit(asynchronous=False)
    consumer.close()


def refuse(registry: SchemaRegistryClient) -> None:
    """A field without a default, which payments of yesterday do not have."""
    changed = PAYMENT | {"fields": [*PAYMENT["fields"], {"name": "currency", "type": "string"}]}
    try:
        registry.register_schema(SUBJECT, Schema(json.dumps(changed), "AVRO"))
    except SchemaRegistryError as refusal:
        print(f"  refused     a new field without a default: {refusal.error_code}")
        return
    raise AssertionError("the registry took a schema that cannot read what is there")


def main(bootstrap: str, url: str) -> None:
    create_topic(bootstrap)
    # A registry that has just started takes a few seconds to know who leads it.
    with SchemaRegistryClient({"url": url, "max.retries": 20, "retries.max.wait.ms": 1000}) as registry:
        offset = produce(bootstrap, registry)
        consume(bootstrap, registry, offset)
        refuse(registry)


if __name__ == "__main__":
    main(*(*sys.argv[1:], *("127.0.0.1:9092", "http://127.0.0.1:8081")[len(sys.argv) - 1 :]))
