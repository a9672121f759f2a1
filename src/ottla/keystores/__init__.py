"""Keys and certificates out of the stores that Java programs keep them in: PEM and PKCS12.

Bytes in, PEM out: files are read, and contexts of TLS made, by whoever has them.
"""

from ottla.keystores.stores import KeyEntry, UnreadableStore, read_key_store, read_trust_store

__all__ = ["KeyEntry", "UnreadableStore", "read_key_store", "read_trust_store"]
