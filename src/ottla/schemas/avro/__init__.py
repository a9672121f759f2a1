"""Avro schemas as Confluent's registry treats them, which is as Avro's Java library does.

avro_format       the entry: a text becomes a schema that was understood
json_text         JSON as Jackson reads and writes it
names             what names look like, and when the namespace is left out
model             a schema as immutable values
parsing           from JSON to the model
defaults          which defaults fit their types
default_values    what they are as values
canonical         the text that a registry stores
normalisation     a schema without differences that have no meaning
logical_types     which logical types are valid where
comparison        why one schema cannot read what another one has written
plain_json        data as JSON that people read and write
codec             encoders and decoders on fastavro
fastavro_form     a schema in fastavro's own form
resolution        two schemas as one pair that fastavro follows without choosing
value_faults      where in a value the fault is
data_bounds       what data may not do to whoever decodes them
"""
