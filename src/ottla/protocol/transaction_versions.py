"""What a level of the feature `transaction.version` means to whoever writes, ends or marks a transaction."""

from typing import Final

# From this level on each transaction has an epoch of its own, and its markers carry the next one (KIP-890).
EPOCH_BUMP_VERSION: Final = 2
