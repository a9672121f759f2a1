"""The long broker tests of librdkafka's own suite.

Left out are those of several brokers, TLS and SASL (0097, 0101, 0126, 0135, 0142), of message formats that Kafka 4 has
dropped (0092), of transactions (0055, 0061, 0098, 0103, 0129, 0137), ACLs (0081, 0109, 0115, 0119), share groups
(0170-0190), those that want a JSON library (0053, 0110), and those that need no broker.

The nodes have Kafka's own delay before a group's first rebalance: some of these tests count on it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.librdkafka import check
from harness.servers import Server

pytestmark = pytest.mark.timeout(600)

LONG = (
    "0015_offsets_seek",
    "0018_cgrp_term",
    "0026_consume_pause",
    "0030_offset_commit",
    "0033_regex_subscribe",
    "0038_performance",
    "0045_subscribe_update",
    "0050_subscribe_adds",
    "0051_assign_adds",
    "0052_msg_timestamps",
    "0059_bsearch",
    "0069_consumer_add_parts",
    "0077_compaction",
    "0084_destroy_flags",
    "0089_max_poll_interval",
    "0091_max_poll_interval_timeout",
    "0093_holb_consumer",
    "0102_static_group_rebalance",
    "0113_cooperative_rebalance",
    "0114_sticky_partitioning",
    "0118_commit_rebalance",
    "0122_buffer_cleaning_after_rebalance",
    "0123_connections_max_idle",
    "0125_immediate_flush",
)

WITHOUT_AUTO_CREATION = (
    "0045_subscribe_update_topic_remove",
    "0107_topic_recreate",
    "0111_delay_create_topics",
)

# More than seven minutes in full mode; the one test whose quick mode still does something.
IN_QUICK_MODE = {"0113_cooperative_rebalance"}

PATIENT = {"group.initial.rebalance.delay.ms": "3000"}


@pytest.fixture(scope="session")
def patient_server(start_servers: Callable[..., Server]) -> Server:
    return start_servers(PATIENT)


@pytest.fixture(scope="session")
def strict_server(start_servers: Callable[..., Server]) -> Server:
    return start_servers(PATIENT | {"auto.create.topics.enable": "false"})


@pytest.mark.parametrize("name", LONG)
def test_long(name: str, patient_server: Server, tmp_path: Path) -> None:
    options = ("-Q",) if name in IN_QUICK_MODE else ()
    check(name, patient_server, tmp_path, *options)


@pytest.mark.parametrize("name", WITHOUT_AUTO_CREATION)
def test_without_auto_creation(name: str, strict_server: Server, tmp_path: Path) -> None:
    check(name, strict_server, tmp_path, scenario="noautocreate")
