"""What a pipeline cannot do, in words that name the value and the remedy: Spark shows them under a Java traceback."""


class PipelineError(Exception):
    """Something that whoever runs the pipeline has to know or to change."""


class OptionError(PipelineError, ValueError):
    """An option that cannot mean anything, or not together with another one."""


class EndInDoubt(PipelineError):
    """Whether a transaction was committed or aborted is not known; the coordinator knows."""
