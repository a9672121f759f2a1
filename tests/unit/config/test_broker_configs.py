"""The definitions say what Apache Kafka 4.3's own definitions say; the facts were printed by its jars."""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.config.broker_configs import BROKER_CONFIGS, DYNAMIC_ONLY_BROKER_CONFIGS, base_name, broker_synonyms
from ottla.config.definition import REQUIRED, ConfigDef
from ottla.config.group_configs import GROUP_CONFIGS
from ottla.config.topic_configs import TOPIC_CONFIGS, TOPIC_SYNONYMS

KAFKA: dict[str, Any] = json.loads((Path(__file__).parent / "kafka_4_3_configs.json").read_text())


@pytest.mark.parametrize(
    ("kind", "ours"), [("broker", BROKER_CONFIGS), ("topic", TOPIC_CONFIGS), ("group", GROUP_CONFIGS)]
)
def test_every_config_has_kafkas_type_default_importance_and_update_mode(kind: str, ours: ConfigDef) -> None:
    described = {
        key.name: [
            key.type.name,
            "<<REQUIRED>>" if key.default is REQUIRED else key.default_text,
            key.importance.value,
            key.update_mode.value if kind == "broker" else None,
            key.internal,
        ]
        for key in ours
        if not key.name.startswith("ottla.")
    }
    assert described == KAFKA[kind]


def test_throttles_exist_as_dynamic_configs_alone() -> None:
    assert sorted(key.name for key in DYNAMIC_ONLY_BROKER_CONFIGS) == sorted(KAFKA["broker_dynamic_only"])


def test_broker_synonyms_are_kafkas() -> None:
    for name, synonyms in KAFKA["broker_synonyms"].items():
        assert list(broker_synonyms(name)) == synonyms, name


def test_each_topic_config_inherits_from_kafkas_broker_config() -> None:
    strongest = {name: synonyms[0].name for name, synonyms in TOPIC_SYNONYMS.items()}
    assert strongest == KAFKA["topic_synonym"]


def test_every_default_passes_its_own_validator() -> None:
    for definition in (BROKER_CONFIGS, TOPIC_CONFIGS, GROUP_CONFIGS):
        for key in definition:
            if key.default is not REQUIRED and key.default is not None:
                assert key.parse(key.default_text or "") == key.default, key.name


def test_every_config_says_what_it_means() -> None:
    for definition in (BROKER_CONFIGS, TOPIC_CONFIGS, GROUP_CONFIGS):
        for key in definition:
            assert key.documentation.endswith("."), key.name


def test_a_listener_and_mechanism_prefix_is_taken_off() -> None:
    assert base_name("listener.name.internal.scram-sha-256.sasl.jaas.config") == "sasl.jaas.config"
    assert base_name("listener.name.internal.ssl.keystore.type") == "ssl.keystore.type"
    assert base_name("num.partitions") == "num.partitions"
