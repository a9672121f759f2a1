"""Fuzzes one target with atheris, in a process of its own: run_target.py NAME CORPUS [libFuzzer options].

The corpus directory is filled with the target's own seeds. An input that breaks the target ends the process with its
traceback, and is left in the working directory as crash-* or timeout-*.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

INSTRUMENTED = ["ottla.protocol", "ottla.storage", "ottla.coordinator", "ottla.metadata", "ottla.client"]

with atheris.instrument_imports(include=INSTRUMENTED):
    from fuzz.targets import TARGETS
    from ottla.protocol import codec

_compile_decoder = codec._compile_decoder


def _compile_instrumented(cls: type[codec.Message], version: int) -> codec.Decoder:
    """Decoders are compiled when they are first needed: too late for the import hook."""
    decoder = _compile_decoder(cls, version)
    for name, function in tuple(decoder.__globals__.items()):
        if name.startswith("decode_"):
            atheris.instrument_func(function)
    return decoder


def main() -> None:
    name, corpus, *options = sys.argv[1:]
    target = TARGETS[name]
    directory = Path(corpus)
    directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (directory / f"seed-{number:05}").write_bytes(seed)
    codec._compile_decoder = _compile_instrumented
    atheris.Setup([sys.argv[0], corpus, *options], target.read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
