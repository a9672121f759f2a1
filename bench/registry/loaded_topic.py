"""A topic with as many schemas as a large company has, as Confluent's registry would have written it."""

import json

from confluent_kafka import Producer

from bench.registry.contenders import SCHEMA

FLUSH_TIMEOUT_S = 120.0
QUEUED_MAX = 10_000


def write_schemas(bootstrap: str, topic: str, count: int) -> None:
    """Ten versions to a subject, each with an id of its own."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "acks": "all"})
    for number in range(count):
        subject, version = f"subject-{number // 10}-value", number % 10 + 1
        key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
        value = {"subject": subject, "version": version, "id": number + 1, "schema": SCHEMA % number, "deleted": False}
        producer.produce(topic, _json(value), _json(key))
        if number % QUEUED_MAX == 0:
            producer.flush(FLUSH_TIMEOUT_S)
    left = producer.flush(FLUSH_TIMEOUT_S)
    if left:
        raise TimeoutError(f"{left} records were not acknowledged")


def _json(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
