"""The clients of the matrix. A test asks for the features it needs, and runs once per client that has them."""

import pytest

from harness.clients.aio import AioKafka
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Feature
from harness.clients.java_client import JavaClient
from harness.clients.kafka_python import KafkaPython
from harness.clients.kafkajs import KafkaJs

CLIENTS: tuple[type[Client], ...] = (ConfluentKafka, KafkaPython, AioKafka, KafkaJs, JavaClient)


def clients_with(*features: Feature) -> pytest.MarkDecorator:
    """Parametrizes a test over the clients that have all of these features."""
    chosen = [kind.name for kind in CLIENTS if kind.features.issuperset(features)]
    return pytest.mark.parametrize("client", chosen, indirect=True)


def start_client(name: str, bootstrap: str) -> Client:
    return next(kind for kind in CLIENTS if kind.name == name)(bootstrap)
