"""The quick broker tests of librdkafka's own suite, which nobody here wrote; `make conformance` runs all of them."""

from pathlib import Path

import pytest

from harness.librdkafka import check
from harness.servers import Server

QUICK = (
    "0001_multiobj",
    "0002_unkpart",
    "0003_msgmaxsize",
    "0005_order",
    "0007_autotopic",
    "0008_reqacks",
    "0011_produce_batch",
    "0012_produce_consume",
    "0013_null_msgs",
    "0014_reconsume_191",
    "0016_client_swname",
    "0017_compression",
    "0019_list_groups",
    "0020_destroy_hang",
    "0021_rkt_destroy",
    "0022_consume_batch",
    "0029_assign_offset",
    "0031_get_offsets",
    "0034_offset_reset",
    "0035_api_version",
    "0036_partial_fetch",
    "0039_event_dr",
    "0040_io_event",
    "0041_fetch_max_bytes",
    "0042_many_topics",
    "0044_partition_cnt",
    "0048_partitioner",
    "0054_offset_time",
    "0056_balanced_group_mt",
    "0057_invalid_topic",
    "0060_op_prio",
    "0063_clusterid",
    "0064_interceptors",
    "0065_yield",
    "0067_empty_topic",
    "0070_null_empty",
    "0073_headers",
    "0082_fetch_max_bytes",
    "0083_cb_event",
    "0085_headers",
    "0086_purge_remote",
    "0090_idempotence",
    "0099_commit_metadata",
    "0112_assign_unknown_part",
    "0127_fetch_queue_backoff",
    "0129_fetch_aborted_msgs",
    "0130_store_offsets",
    "0132_strategy_ordering",
    "0140_commit_metadata",
)

# Of 0103_transactions, all of which takes more than a minute.
QUICK_TRANSACTIONS = ("consumer_producer_txn", "fenced_txn", "misuse_txn", "wmark_isolation_level")


@pytest.mark.parametrize("name", QUICK)
def test_quick(name: str, server: Server, tmp_path: Path) -> None:
    check(name, server.bootstrap, tmp_path)


@pytest.mark.parametrize("part", QUICK_TRANSACTIONS)
def test_quick_transactions(part: str, server: Server, tmp_path: Path) -> None:
    check("0103_transactions", server.bootstrap, tmp_path, part=f"do_test_{part}")
