"""How many records `from_registry` decodes and `to_registry` encodes, on one core of Spark.

    PYTHONPATH=tests python -m bench.registry.spark_decoding [--records 1000000] [--rounds 3]

Records of about 100 bytes lie in Spark's memory, so no topic is read; a node and a registry run beside it, and are
asked once. Spark has one task at a time. A line of JSON for each format and direction has the rate by the clock, and by
CPU time: that of the JVM and its Python workers together, which is what a core does when nothing overlaps. Each number
is the best of the rounds, after one that is not counted.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.process import cpu_seconds
from harness.registries import running_registries
from harness.servers import OttlaServer
from ottla.pipeline import from_registry, session, to_registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_AVRO = """
{"type": "record", "name": "Order", "namespace": "shop", "fields": [
  {"name": "number", "type": "long"},
  {"name": "customer", "type": "string"},
  {"name": "price", "type": "double"},
  {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "note", "type": ["null", "string"], "default": null}]}
"""
_JSON = """
{"type": "object", "required": ["number", "customer", "price", "placed"], "properties": {
  "number": {"type": "integer"}, "customer": {"type": "string"}, "price": {"type": "number"},
  "placed": {"type": "string", "format": "date-time"}, "note": {"type": "string"}}}
"""
_PROTOBUF = """
syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto";
message Order {
  int64 number = 1; string customer = 2; double price = 3; google.protobuf.Timestamp placed = 4; string note = 5;
}
"""
SCHEMAS = {"AVRO": _AVRO, "JSON": _JSON, "PROTOBUF": _PROTOBUF}
_ORDER = """struct(id AS number, 'customer-' || id % 1000 AS customer, id / 8D AS price,
    timestamp_millis(1770000000000 + id) AS placed, repeat('n', 60) AS note)"""


def measure(spark: "SparkSession", registry_url: str, schema_type: str, records: int, rounds: int) -> None:
    subject = f"{schema_type.lower()}-value"
    rows = spark.range(0, records, 1, 4).selectExpr(f"{_ORDER} AS row").cache()
    given: dict[str, Any] = {"schema": SCHEMAS[schema_type], "schema_type": schema_type, "register": True}
    framed = rows.select(to_registry("row", subject, registry=registry_url, **given).alias("value"))
    _report(spark, "to_registry", schema_type, framed, records, rounds)
    framed = framed.cache()
    value_bytes = framed.selectExpr("avg(octet_length(value))").first()
    assert value_bytes is not None
    decoded = framed.select(from_registry("value", subject, registry=registry_url))
    _report(spark, "from_registry", schema_type, decoded, records, rounds, value_bytes=round(value_bytes[0]))
    framed.unpersist()
    rows.unpersist()


def _report(
    spark: "SparkSession", what: str, schema_type: str, frame: "DataFrame", records: int, rounds: int, **more: Any
) -> None:
    gateway: Any = spark.sparkContext._gateway
    taken = []
    for _ in range(1 + rounds):
        before_s, cpu_s = time.monotonic(), cpu_seconds(gateway.proc.pid)
        frame.write.format("noop").mode("overwrite").save()
        taken.append((time.monotonic() - before_s, cpu_seconds(gateway.proc.pid) - cpu_s))
    clock_s, cpu_s = (min(column) for column in zip(*taken[1:], strict=True))
    rates = {"records_per_s": round(records / clock_s), "records_per_cpu_s": round(records / cpu_s)}
    print(json.dumps({"row": what, "format": schema_type, **rates, **more}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        (home / "server").mkdir()
        server = OttlaServer(home / "server")
        server.start()
        try:
            with running_registries(home, server.bootstrap) as [registry]:
                spark = session("bench", "local[1]", {"spark.driver.memory": "2g", "spark.local.dir": directory})
                for schema_type in SCHEMAS:
                    measure(spark, registry.url, schema_type, options.records, options.rounds)
                spark.stop()
        finally:
            server.close()


if __name__ == "__main__":
    main()
