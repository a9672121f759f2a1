"""What the registry refuses, by Confluent's codes. The first three digits are the HTTP status."""

from __future__ import annotations

from typing import Final


class RegistryError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return self.code if self.code < 1000 else self.code // 100


TOO_LARGE: Final = 42209
# What each code means, for the reference. Codes below 1000 are HTTP's own.
MEANINGS: Final = {
    400: "a body that is not JSON, or has something else where a text, a number or an object belongs",
    404: "no such path, or no number where an id or a page belongs",
    405: "a path that exists, but not for this method",
    406: "an `Accept` that no answer can meet",
    413: "a body larger than `size.limit.filter.max.request.body.size`",
    415: "a body of another media type",
    422: "parameters that do not go together",
    40401: "no such subject",
    40402: "no such version",
    40403: "no such schema",
    40404: "the subject was deleted softly; with `permanent=true` it goes for good",
    40405: "a subject must be deleted softly before it goes for good",
    40406: "the version was deleted softly; with `permanent=true` it goes for good",
    40407: "a version must be deleted softly before it goes for good",
    40408: "the subject has no settings of its own",
    40409: "the subject has no mode of its own",
    40901: "the schema does not go with an earlier version, under the level that holds",
    42201: "not a schema of its type, or references that lead nowhere",
    42202: "not a version: neither a number nor `latest`",
    42203: "not a level of compatibility",
    42204: "not a mode",
    42205: "not permitted in the mode that holds, or at all",
    42206: "others refer to it",
    42208: "not the name of a subject",
    TOO_LARGE: "the schema is too large for the topic",
    42210: "rules that no client could carry out",
    42211: "the context has subjects",
    50001: "the cluster refused or lost the change",
    50002: "the cluster did not take the change in time",
    50003: "the instance that leads could not be asked",
    50004: "nobody is known to lead; ask again soon",
}


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(name: object = None) -> RegistryError:
    """`name` is the id or the guid that was asked for, if one was."""
    return RegistryError(40403, "Schema not found" if name is None else f"Schema {name} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40406, f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    )


def no_subject_config(subject: str) -> RegistryError:
    return RegistryError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_subject_mode(subject: str) -> RegistryError:
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible_schema(subject: str, details: str) -> RegistryError:
    return RegistryError(
        40901,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {details}',
    )


def invalid_schema(message: str) -> RegistryError:
    return RegistryError(42201, message)


def invalid_version(version: str) -> RegistryError:
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the "
        'string "latest"',
    )


def invalid_level() -> RegistryError:
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive",
    )


def invalid_mode() -> RegistryError:
    return RegistryError(
        42204, "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, and FORWARD."
    )


def not_permitted(message: str) -> RegistryError:
    return RegistryError(42205, message)


def reference_exists(subject: str, version: int) -> RegistryError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RegistryError(42206, f"One or more references exist to the schema {key}.")


def id_does_not_match(message: str) -> RegistryError:
    return RegistryError(42207, message)


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid.")


def schema_too_large(message: str) -> RegistryError:
    return RegistryError(TOO_LARGE, message)


def invalid_rule_set(message: str) -> RegistryError:
    return RegistryError(42210, message)


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(42211, f"The specified context '{context}' is not empty.")


def store_failed(message: str) -> RegistryError:
    return RegistryError(50001, message)


def timed_out(message: str) -> RegistryError:
    return RegistryError(50002, message)


def forwarding_failed(message: str) -> RegistryError:
    return RegistryError(50003, message)


def unknown_leader(message: str) -> RegistryError:
    return RegistryError(50004, message)
