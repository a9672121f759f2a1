"""Notifying the service manager that started this process: systemd, or another that speaks its sd_notify protocol.

A manager that wants to be notified names a datagram socket in NOTIFY_SOCKET. A node tells it when clients are served,
which after a crash may be long after the process started: whatever depends on the service waits until then.
"""

import logging
import socket
from collections.abc import MutableMapping

logger = logging.getLogger("ottla.cli.server.service_manager")


def tell_ready(variables: MutableMapping[str, str], status: str) -> None:
    """Tell the manager named in the environment that the node serves; no child process may say so too."""
    address = variables.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    try:
        if not address.startswith(("/", "@")):
            raise OSError("only a path or an abstract socket (@name) is known")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            # An abstract address is written with an @ for the NUL it begins with.
            manager.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            manager.sendall(f"READY=1\nSTATUS={status}\n".encode())
    except OSError as error:
        logger.warning(
            "The service manager at NOTIFY_SOCKET=%s cannot be told that the node serves: %s", address, error
        )
