"""What the broker hears when a worker did not finish its job."""


class WorkerFailed(Exception):
    """A worker process died or was silent for too long, or the node ends; the log is as it was."""

    def __init__(self, message: str, *, was_asked_for: bool = False) -> None:
        super().__init__(message)
        self.was_asked_for = was_asked_for
