"""A first pipeline: orders through Spark into another topic, exactly once.

    python examples/pipeline.py [HOST:PORT]

It needs Java 17 or newer, and `pip install '.[spark]' confluent-kafka` in a clone of Ottla.
"""

import json
import random
import sys
import tempfile
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ottla.pipeline import session, write_topic

ORDERS, BIG_ORDERS = "demo-orders", "demo-big-orders"
PARTITIONS = 3
COUNT = 1000
ITEMS = ("tea", "coffee", "chocolate")


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(name, PARTITIONS) for name in (ORDERS, BIG_ORDERS)]).values():
        # There already, from an earlier run.
        with suppress(KafkaException):
            created.result(15)


def produce_orders(bootstrap: str) -> None:
    # Errors alone: a cluster that has just started is asked twice for some things, which librdkafka warns of.
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 3})
    for number in range(COUNT):
        order = {"number": number, "item": random.choice(ITEMS), "price": random.randrange(1, 101)}
        producer.produce(ORDERS, key=f"customer-{number % 50}", value=json.dumps(order))
    producer.flush()
    print(f"  produced  {COUNT} orders to topic {ORDERS!r}, such as {json.dumps(order)}")


def committed_records(bootstrap: str) -> int:
    """How many records a reader of committed transactions finds in the topic of big orders."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "counting", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(BIG_ORDERS, partition, 0) for partition in range(PARTITIONS)])
    records, ends = 0, 0
    while ends < PARTITIONS:
        message = consumer.poll(15)
        if message is None:
            raise TimeoutError("the broker did not answer")
        ends += message.error() is not None
        records += message.error() is None
    consumer.close()
    return records


def big_orders(orders: DataFrame) -> DataFrame:
    """The transformation: any that Spark has."""
    order = F.from_json(F.col("value").cast("string"), "number long, item string, price double")
    parsed = orders.select("key", order.alias("order"))
    return parsed.where("order.price > 90").select("key", F.to_json("order").alias("value"))


def run_pipeline(bootstrap: str) -> None:
    """Everything that is new, once: each micro-batch is one transaction with its records and its source's offsets."""
    cluster = {"kafka.bootstrap.servers": bootstrap}
    # What the pipeline has written says where it goes on, so a checkpoint is needed only while it runs; brokers keep
    # that for a week after the last batch (offsets.retention.minutes).
    place = {"subscribe": ORDERS, "startingOffsets": "committed", "kafka.group.id": BIG_ORDERS}
    with tempfile.TemporaryDirectory() as checkpoint:
        orders = session("demo").readStream.format("ottla").options(**cluster, **place).load()
        query = write_topic(
            big_orders(orders),
            name=BIG_ORDERS,
            topic=BIG_ORDERS,
            checkpoint=checkpoint,
            options=cluster,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
    read = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"  pipeline  read {read} new orders, those above 90 are written in a transaction", flush=True)


def show(bootstrap: str) -> None:
    create_topics(bootstrap)
    produce_orders(bootstrap)
    print("  starting  Spark, which takes 10 s or more; the node serves its clients meanwhile", flush=True)
    session("demo")
    # The second time nothing is new, and nothing is written twice.
    for _ in range(2):
        run_pipeline(bootstrap)
        print(f"  consumed  {committed_records(bootstrap)} orders from topic {BIG_ORDERS!r}", flush=True)


if __name__ == "__main__":
    show(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
    session().stop()
