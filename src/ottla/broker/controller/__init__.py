"""The controller: request messages in, decisions about the metadata, response messages out."""
