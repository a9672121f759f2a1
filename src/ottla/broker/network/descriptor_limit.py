"""Files and sockets that the process may have open: as many as the system lets it have.

The soft limit that a shell hands down, often 1,024, is meant for programs that use select(). A node keeps a few files
for each partition and a socket for each client.
"""

import logging

logger = logging.getLogger("ottla.broker.network.descriptor_limit")

# Where the hard limit is none at all, some systems still refuse to go beyond a number of their own.
_WANTED_WITHOUT_LIMIT = 1_048_576


def raise_descriptor_limit() -> None:
    """Raises the soft limit to the hard one, and says what it is now."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_WITHOUT_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            logger.warning("At most %d files and connections can be open (ulimit -n): %s", soft, error)
            return
        soft = wanted
    logger.info("Up to %d files and connections can be open (ulimit -n)", soft)
