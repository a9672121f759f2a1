"""What a pipeline cannot do, in words that name the value and the remedy: Spark shows them under a Java traceback."""


class PipelineError(Exception):
    """Something that the person who runs the pipeline must know or change."""


class OptionError(PipelineError, ValueError):
    """An option that is invalid, or conflicts with another one."""


class EndInDoubt(PipelineError):
    """It is unknown whether a transaction was committed or aborted; only the coordinator knows."""
