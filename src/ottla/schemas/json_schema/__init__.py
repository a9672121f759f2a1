"""JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, without the network.

json_format      a text becomes a schema that can be compared, normalised and used
json_text        JSON read with bounds, and written as Confluent's registry writes it
drafts           the drafts, how a schema says which it is, and where each has schemas within schemas
documents        a schema with the schemas that it refers to, and the places that `$ref` leads to
soundness        what makes a text a schema: its meta-schema, its patterns, its references
patterns         regular expressions that take linear time
kinds            a schema as what it says about strings, about numbers, about objects, ...
comparison       why a schema cannot read what another has written; with a module for each kind of rule
blind_spots      what Confluent's rules do not look at
checks           a schema as functions that check values; with a module for each kind of keyword
compiler         puts them together
codec            values to bytes and back
"""
