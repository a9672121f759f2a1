"""Avro's data as JSON that people read and write, and back to the same bytes.

| Avro | JSON |
| --- | --- |
| null, boolean, int, long, string, array, map | what JSON has for it |
| float, double | a number; "NaN", "Infinity", "-Infinity" |
| enum | its symbol |
| bytes, fixed | a text with a character from U+0000 to U+00FF for each byte, as in Avro's own JSON |
| record | an object with all fields; fields with defaults may be left out when it is written |
| union | the value alone, if the branch can be told by it; else {"branch": value}, which may always be written |
| decimal | a text such as "12.50" with as many digits behind the point as the scale says |
| date | "2024-06-10" |
| time-millis, time-micros | "06:13:20.123", "06:13:20.123456" |
| timestamp-* | "2024-06-10T06:13:20.123Z" with 3, 6 or 9 digits; another offset may be written |
| local-timestamp-* | "2024-06-10T06:13:20.123" |
| uuid | "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" |

A logical type is shown by its plain value where it has no readable form: a number for days and times that no calendar
has, {"bytes": "..."} for a decimal with more digits than its precision or more bytes than it needs. So every value has
one JSON, from which the encoder makes the same bytes again, as writers in use write them: in one block for each array
and map, and NaN without a payload.

moments         days and times
scalars         what is not made of other values
branches        which branch of a union a JSON value means
decoding        from bytes to JSON
encoding        from JSON to bytes
"""
