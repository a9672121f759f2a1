"""Protobuf: .proto source and descriptors, as Confluent's registry stores, compares and counts them.

protobuf_format     what the registry and its clients use
parsing             from a text to its declarations and descriptors
compiling           protoc, called in this process
elements            what a file declares; read from source (source_tokens, token_cursor, literals, option_reader,
                    element_reader) or from a descriptor (descriptor_reader, descriptor_options), and written
                    (element_printer, option_printer)
map_entries         maps written as messages
normalisation       one text for all that mean the same
extension_filter    a text without extensions
file_set            descriptors in a pool of their own
message_indexes     where a message is in its file
comparison          what a reader cannot do with a writer's data
codec               messages to bytes and back
include             files that schemas import without a reference
"""
