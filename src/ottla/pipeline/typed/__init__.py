"""Columns of bytes that a registry's schemas give a type: `from_registry` and `to_registry`.

registry_columns    the two functions
registry_access     what the driver asks of a registry
worker_registries   one client for each registry in each process of Spark
column_kinds        how values become a column, and cells of one become values
avro_kinds, json_kinds, protobuf_kinds
                    from a schema to its kind, and so to its Spark type
json_values         cells that JSON has no words for: times, bytes, long numbers
schema_kinds        from any schema to its kind
decoding, encoding  a batch of records, on an executor
framed_batch        where its records are, and which schemas they have
avro_columns        records of Avro that are decoded all at once
"""
