"""A client of schema registries, Ottla's or Confluent's, and records that are read and written with their schemas.

settings        where registries are, and who asks
exchange        one request, to whichever registry of a list serves it
registered      a schema as a registry has it
memory          what never changes is remembered, what is missing for seconds
registry_client what can be asked and changed
known_schemas   schemas that were read with all that they refer to
record_reading  from a record to a value
record_writing  from a value to a record
"""
