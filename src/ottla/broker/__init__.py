"""The process around the deciders: listeners, connections, handlers, and the node that assembles them."""
