"""`ottla completion`: a script for a shell, which then asks `ottla` itself what may follow."""

import argparse
from typing import Final

from ottla.cli.exits import ExitCode

SHELLS: Final = ("bash", "zsh", "fish")

_EPILOG: Final = """\
to have it now:
  bash, zsh    source <(ottla completion bash)
  fish         ottla completion fish | source

to have it in every shell:
  bash         ottla completion bash > ~/.local/share/bash-completion/completions/ottla
  zsh          ottla completion zsh > DIRECTORY/_ottla, a directory of $fpath, before compinit
  fish         ottla completion fish > ~/.config/fish/completions/ottla.fish

Names of topics and groups are asked of the cluster that the line names, subjects of the registry, and left out if it
does not answer at once.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Print a script that lets a shell complete commands, options, topics, groups and subjects."
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    # One script serves bash and zsh; it finds out in which of them it is.
    print(shellcode(["ottla"], shell="fish" if options.shell == "fish" else "bash"))
    return ExitCode.DONE
