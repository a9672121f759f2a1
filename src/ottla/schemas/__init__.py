"""Schemas without IO: Avro, JSON Schema and Protobuf, how versions of them compare, and how records carry their ids.

schema          what a schema is: its type, its text, what it refers to
format          what each of the three formats can do; their libraries are imported when one is used
finding         why one schema cannot read what another one has written
compatibility   the seven levels, and which versions each of them compares in which direction
references      schemas that a schema needs, in an order in which they can be read
framing         the id in front of a record, or in its header
avro, json_schema, protobuf
                the formats
"""
