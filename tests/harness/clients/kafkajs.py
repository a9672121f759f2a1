"""kafkajs: the most used pure JavaScript client, last released in 2023."""

import os

from harness.agents import SOURCES, Agent
from harness.clients.contract import Feature
from harness.clients.remote import RemoteClient
from harness.downloads import downloaded


class KafkaJs(RemoteClient):
    name = "kafkajs"
    # Its headers are an object: repeated names lose their order, and null is not a value.
    features = frozenset(Feature) - {Feature.REPEATED_HEADERS, Feature.STATIC_MEMBERS, Feature.COOPERATIVE}
    # The other codecs need packages of their own.
    codecs = ("none", "gzip")

    def start_agent(self) -> Agent:
        environment = {
            **os.environ,
            "NODE_PATH": str(downloaded("kafkajs") / "node_modules"),
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        }
        return Agent(["node", str(SOURCES / "js" / "agent.js"), self.bootstrap], environment)
