"""What the C library does with memory that was freed: it is kept for the next answer instead of being given back.

An answer to a consumer is made of buffers of a megabyte each, which live for a millisecond. glibc returns such memory
to the system at once, and has every page of it zeroed by the kernel when the next answer needs it: more work than the
answer itself. Kept are at most KEPT_BYTES_MAX beyond what is in use.
"""

import ctypes
from typing import Final

KEPT_BYTES_MAX: Final = 64 * 1024 * 1024

# From malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGEST_KEPT_BYTES: Final = 32 * 1024 * 1024


def keep_freed_memory() -> None:
    """Tells the allocator; one that has no such switch keeps its own ways."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
