"""A Dockerfile as a list of stages and their instructions, in the words of its reference; nothing is run here.

Only the forms that ours uses are known. Anything else is an error, so that no instruction is passed over in silence.
"""

import json
import re
import shlex
from dataclasses import dataclass, field

SHELL = ("/bin/sh", "-c")
KNOWN = {
    *("RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"),
}


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    flags: dict[str, str]
    rest: str

    def words(self) -> list[str]:
        return shlex.split(self.rest)

    def command(self) -> list[str]:
        """The exec form as it stands, the shell form with its shell."""
        if not self.rest.startswith("["):
            return [*SHELL, self.rest]
        words: list[str] = json.loads(self.rest)
        return words


@dataclass(frozen=True, slots=True)
class Stage:
    image: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def last(self, name: str) -> Instruction:
        return [instruction for instruction in self.instructions if instruction.name == name][-1]

    def variables(self) -> dict[str, str]:
        pairs = [word for one in self.instructions if one.name == "ENV" for word in one.words()]
        return dict(pair.split("=", 1) for pair in pairs)


def parse_dockerfile(text: str) -> list[Stage]:
    stages: list[Stage] = []
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if not line.strip():
            continue
        name, _, rest = line.partition(" ")
        if name == "FROM":
            image, *naming = rest.split()
            stages.append(Stage(image, naming[1] if naming else ""))
            continue
        if name not in KNOWN:
            raise ValueError(f"{name}: the tests do not know this instruction; teach them")
        flags = {}
        while match := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            flags[match[1]] = match[2]
            rest = rest[match.end() :]
        stages[-1].instructions.append(Instruction(name, flags, rest))
    return stages
