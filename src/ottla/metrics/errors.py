"""What can be wrong with the page of metrics."""


class PageUnservable(Exception):
    """The address of the page cannot be used; the message says why and what to do."""
