"""The parameters that queries may have. A table says which request takes which; what is not listed is ignored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    FLAG = "true or false"
    NUMBER = "a number"
    TEXT = "a text"
    TEXTS = "texts, each in a parameter of its own"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: Kind
    meaning: str


DELETED: Final = Parameter("deleted", Kind.FLAG, "what was deleted softly counts too")
DELETED_ONLY: Final = Parameter("deletedOnly", Kind.FLAG, "only what was deleted softly counts")
DELETED_AS_NEGATIVE: Final = Parameter(
    "deletedAsNegative", Kind.FLAG, "what was deleted softly counts too, and has a minus before it"
)
OFFSET: Final = Parameter("offset", Kind.NUMBER, "how many to leave out at the beginning; 0 by default")
LIMIT: Final = Parameter("limit", Kind.NUMBER, "how many to show; all if it is negative, as by default")
PAGING: Final = (OFFSET, LIMIT)
SUBJECT_PREFIX: Final = Parameter(
    "subjectPrefix", Kind.TEXT, "how subjects begin; `:*:` before it means those of all contexts, as by default"
)
SUBJECT: Final = Parameter(
    "subject", Kind.TEXT, "a subject, or a context such as `:.sales:`, in which the id is looked for first"
)
ALIASES: Final = Parameter("aliases", Kind.FLAG, "aliases are searched too, and shown with the subjects they stand for")
LATEST_ONLY: Final = Parameter("latestOnly", Kind.FLAG, "only the newest version of each subject")
RULE_TYPE: Final = Parameter("ruleType", Kind.TEXT, "only what has a rule of this type")
FORMAT: Final = Parameter(
    "format", Kind.TEXT, "another form of the text: `resolved` for Avro; `serialized`, `ignore_extensions` for Protobuf"
)
REFERENCE_FORMAT: Final = Parameter(
    "referenceFormat", Kind.TEXT, "`qualified` shows the subjects of references with their context"
)
FIND_TAGS: Final = Parameter("findTags", Kind.TEXTS, "shows where the schema has these tags; `*` means all")
FETCH_MAX_ID: Final = Parameter("fetchMaxId", Kind.FLAG, "also shows the highest id that is in use")
NORMALIZE: Final = Parameter(
    "normalize", Kind.FLAG, "the schema is normalised first; by default as setting `normalize` of the subject says"
)
PERMANENT: Final = Parameter("permanent", Kind.FLAG, "for good; it must have been deleted softly before")
VERBOSE: Final = Parameter("verbose", Kind.FLAG, "also tells every finding: rule, place, and both versions")
KEY: Final = Parameter("key", Kind.TEXTS, "names of properties")
VALUE: Final = Parameter("value", Kind.TEXTS, "their values, in the same order")
DEFAULT_TO_GLOBAL: Final = Parameter(
    "defaultToGlobal", Kind.FLAG, "what holds there, wherever it was set, and not only what was set right there"
)
FORCE: Final = Parameter("force", Kind.FLAG, "mode IMPORT even if there are schemas")
RECURSIVE: Final = Parameter("recursive", Kind.FLAG, "in a context, the modes of all its subjects too")
