"""Sockets, connections, and the limits on both."""
