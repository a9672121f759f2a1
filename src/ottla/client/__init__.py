"""A client of Kafka's protocol: asynchronous at its core, with a blocking facade in `ottla.client.sync`.

It speaks with Ottla and with Apache Kafka alike, over the wire alone. Names are loaded when they are first used, so
importing this package costs next to nothing.
"""
