"""A broker for handlers of configs: real metadata and deciders, and a controller that commits at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import RequestOrigin
from ottla.broker.controller.deciders import DECIDERS, Surroundings
from ottla.broker.host import Machine
from ottla.broker.requests.request_context import RequestContext
from ottla.broker.services import Services
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.image import ClusterImage, apply_records
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message

TOPIC_ID = bytes(15) + b"\x01"
NODE_ID = 1


class ImmediateController:
    """Applies a decision's records to the image instead of replicating them first."""

    def __init__(self, config: BrokerConfig) -> None:
        self.image = ClusterImage()
        self.decision_count = 0
        self._surroundings = Surroundings("cluster", config, DynamicConfigs(config), Machine(), lambda: 1)

    def apply(self, records: Sequence[Message]) -> None:
        self.image, _ = apply_records(self.image, records, end_offset=self.image.end_offset + len(records), epoch=1)

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        decision = DECIDERS[request.API_KEY](self.image, origin, request, self._surroundings)
        self.decision_count += 1
        self.apply(decision.records)
        response: Message = decision.response
        return response


class ConfigServices:
    """What the handlers of configs use of `Services`."""

    def __init__(self, **static: str) -> None:
        given = {name.replace("_", "."): value for name, value in static.items()}
        self.config = BrokerConfig({**single_node_defaults(Path("/data"), "127.0.0.1:9092"), **given})
        self.controller = ImmediateController(self.config)
        self.metadata = SimpleNamespace(controller=self.controller)
        self.apply(
            RegisterBrokerRecord(broker_id=NODE_ID, broker_epoch=1, fenced=False),
            TopicRecord(name="orders", topic_id=TOPIC_ID),
            PartitionRecord(partition_id=0, topic_id=TOPIC_ID, replicas=[1], isr=[1], leader=1),
        )

    def apply(self, *records: Message) -> None:
        self.controller.apply(records)

    @property
    def image(self) -> ClusterImage:
        return self.controller.image


def context(services: ConfigServices, api_key: int, api_version: int) -> RequestContext:
    return RequestContext(
        api_key, api_version, "test", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS", cast(Services, services)
    )
