"""Purchases with a type, in each of the three formats, and Confluent's serializers for them."""

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from ottla.schemas.protobuf.protobuf_format import ProtobufFormat

AVRO = """
{"type": "record", "name": "Purchase", "namespace": "shop", "fields": [
  {"name": "number", "type": "long"},
  {"name": "customer", "type": "string"},
  {"name": "price", "type": "double"},
  {"name": "tags", "type": {"type": "array", "items": "string"}},
  {"name": "note", "type": ["null", "string"], "default": null}]}
"""
JSON = """
{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Purchase", "type": "object",
 "properties": {
  "number": {"type": "integer"},
  "customer": {"type": "string"},
  "price": {"type": "number"},
  "tags": {"type": "array", "items": {"type": "string"}},
  "note": {"type": "string"}},
 "required": ["number", "customer", "price", "tags"]}
"""
PROTOBUF = """
syntax = "proto3";
package shop;
message Purchase {
  int64 number = 1;
  string customer = 2;
  double price = 3;
  repeated string tags = 4;
  optional string note = 5;
}
"""
TEXTS = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTOBUF}
SPARK_TYPE = "struct<number:bigint,customer:string,price:double,tags:array<string>,note:string>"
PURCHASE_CLASS = GetMessageClass(ProtobufFormat().parse(PROTOBUF, {}).descriptor("shop.Purchase"))


def purchase(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "customer": f"customer-{number % 3}",
        "price": number / 4,
        "tags": ["new"] * (number % 3),
        "note": None if number % 2 else f"note {number}",
    }


@dataclass(frozen=True, slots=True)
class ConfluentPurchases:
    """What Confluent's clients write and read of them, in one format, with the subject of a topic."""

    registry_url: str
    bootstrap: str
    schema_type: str

    def register(self, topic: str) -> None:
        with self._client() as client:
            client.register_schema(f"{topic}-value", Schema(TEXTS[self.schema_type], self.schema_type))

    def produce(self, topic: str, purchases: list[dict[str, Any]], *, in_header: bool = False) -> None:
        settings: dict[str, Any] = {"schema.id.serializer": prefix_schema_id_serializer}
        if in_header:
            # A registration answers with the id alone; the guid comes with a version.
            place = {"schema.id.serializer": header_schema_id_serializer}
            settings = {"auto.register.schemas": False, "use.latest.version": True, **place}
        with self._client() as client:
            serializer = self._serializer(client, settings)
            producer = Producer({"bootstrap.servers": self.bootstrap})
            for one in purchases:
                given = {name: value for name, value in one.items() if value is not None or self.schema_type == "AVRO"}
                context = SerializationContext(topic, MessageField.VALUE, [])
                message = ParseDict(given, PURCHASE_CLASS()) if self.schema_type == "PROTOBUF" else given
                producer.produce(topic, serializer(message, context), headers=context.headers)
            assert producer.flush(30) == 0

    def deserialize(self, topic: str, data: bytes, headers: list[tuple[str, bytes]]) -> dict[str, Any]:
        context = SerializationContext(topic, MessageField.VALUE, headers)
        with self._client() as client:
            if self.schema_type == "AVRO":
                found = AvroDeserializer(client)(data, context)
            elif self.schema_type == "JSON":
                found = JSONDeserializer(None, schema_registry_client=client)(data, context)
            else:
                message = ProtobufDeserializer(PURCHASE_CLASS, {}, client)(data, context)
                found = MessageToDict(message, always_print_fields_with_no_presence=True)
                found["number"] = int(found["number"])
        assert isinstance(found, dict)
        return {"note": None, **found}

    def _client(self) -> SchemaRegistryClient:
        return SchemaRegistryClient({"url": self.registry_url})

    def _serializer(self, client: SchemaRegistryClient, settings: dict[str, Any]) -> Any:
        if self.schema_type == "AVRO":
            return AvroSerializer(client, AVRO, conf=settings)
        if self.schema_type == "JSON":
            return JSONSerializer(JSON, client, conf=settings)
        return ProtobufSerializer(PURCHASE_CLASS, client, conf={"use.deprecated.format": False, **settings})
