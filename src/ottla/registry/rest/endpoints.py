"""Every request of the API. Routes, the reference and the tests of all codes are made from this table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from ottla.registry.rest import (
    compatibility_resource,
    schema_resource,
    server_resource,
    setting_resource,
    subject_resource,
)
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import (
    ALIASES,
    DEFAULT_TO_GLOBAL,
    DELETED,
    DELETED_AS_NEGATIVE,
    DELETED_ONLY,
    FETCH_MAX_ID,
    FIND_TAGS,
    FORCE,
    FORMAT,
    KEY,
    LATEST_ONLY,
    NORMALIZE,
    PAGING,
    PERMANENT,
    RECURSIVE,
    REFERENCE_FORMAT,
    RULE_TYPE,
    SUBJECT,
    SUBJECT_PREFIX,
    VALUE,
    VERBOSE,
    Parameter,
)

Handler = Callable[[Call], Awaitable[Response]]

# Every request with a body may meet these.
BODY_CODES: Final = (400, 413, 415)
# Every request that only the leader carries out may meet these.
LEADER_CODES: Final = (50001, 50002, 50003, 50004)


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    handler: Handler
    # What it does, in a few words.
    purpose: str
    parameters: tuple[Parameter, ...] = ()
    # Those of its own, beside BODY_CODES and LEADER_CODES.
    codes: tuple[int, ...] = ()
    # Whether only the instance that leads carries it out.
    is_led: bool = False

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT") and self.path != "/"

    @property
    def all_codes(self) -> tuple[int, ...]:
        return (
            *(BODY_CODES if self.has_body else ()),
            *self.codes,
            *(LEADER_CODES if self.is_led else ()),
        )


SUBJECT_PATH: Final = "/subjects/{subject}"
VERSIONS_PATH: Final = f"{SUBJECT_PATH}/versions"
VERSION_PATH: Final = f"{VERSIONS_PATH}/{{version}}"
CHECKS_PATH: Final = "/compatibility/subjects/{subject}/versions"
ID_PATH: Final = "/schemas/ids/{id}"
GUID_PATH: Final = "/schemas/guids/{guid}"
_SHOWN: Final = (FORMAT, REFERENCE_FORMAT, FIND_TAGS)

_SCHEMAS: Final = (
    Endpoint(
        "GET",
        ID_PATH,
        schema_resource.get_id,
        "The schema with an id.",
        (SUBJECT, *_SHOWN, FETCH_MAX_ID),
        (404, 40403, 42201, 42208),
    ),
    Endpoint(
        "GET",
        f"{ID_PATH}/schema",
        schema_resource.get_id_text,
        "Its text alone.",
        (SUBJECT, FORMAT),
        (404, 40403, 42201, 42208),
    ),
    Endpoint(
        "GET",
        f"{ID_PATH}/subjects",
        schema_resource.list_subjects_of_id,
        "The subjects that have it.",
        (SUBJECT, DELETED, *PAGING),
        (404, 40403, 42208),
    ),
    Endpoint(
        "GET",
        f"{ID_PATH}/versions",
        schema_resource.list_versions_of_id,
        "The subjects and versions that have it.",
        (SUBJECT, DELETED, *PAGING),
        (404, 40403, 42208),
    ),
    Endpoint(
        "GET",
        GUID_PATH,
        schema_resource.get_guid,
        "The schema with a guid, in whichever context.",
        (FORMAT,),
        (40403, 42201),
    ),
    Endpoint("GET", f"{GUID_PATH}/ids", schema_resource.list_ids_of_guid, "Its ids, and their contexts.", (), (40403,)),
    Endpoint("GET", "/schemas/types", schema_resource.list_types, "The formats: JSON, PROTOBUF, AVRO."),
    Endpoint(
        "GET",
        "/schemas",
        schema_resource.search,
        "Versions of all subjects.",
        (SUBJECT_PREFIX, ALIASES, DELETED, LATEST_ONLY, RULE_TYPE, *PAGING),
        (404,),
    ),
)

_SUBJECTS: Final = (
    Endpoint(
        "GET",
        "/subjects",
        subject_resource.list_subjects,
        "All subjects.",
        (SUBJECT_PREFIX, DELETED, DELETED_ONLY, *PAGING),
        (404,),
    ),
    Endpoint(
        "POST",
        SUBJECT_PATH,
        subject_resource.look_up,
        "The version of a subject that has the schema in the body.",
        (NORMALIZE, FORMAT, DELETED),
        (40401, 40403, 42201, 42208),
    ),
    Endpoint(
        "DELETE",
        SUBJECT_PATH,
        subject_resource.delete_subject,
        "Deletes a subject; the answer are its versions.",
        (PERMANENT,),
        (40401, 40404, 40405, 42205, 42206, 42208),
        is_led=True,
    ),
    Endpoint(
        "GET",
        f"{SUBJECT_PATH}/metadata",
        subject_resource.get_with_properties,
        "The newest version whose metadata have these properties.",
        (KEY, VALUE, FORMAT, DELETED),
        (422, 40401, 40403, 42201, 42208),
    ),
    Endpoint(
        "GET",
        VERSIONS_PATH,
        subject_resource.list_versions,
        "The versions of a subject.",
        (DELETED, DELETED_ONLY, DELETED_AS_NEGATIVE, *PAGING),
        (404, 40401, 42208),
    ),
    Endpoint(
        "POST",
        VERSIONS_PATH,
        subject_resource.register,
        "Registers the schema in the body; the answer is its id.",
        (NORMALIZE, FORMAT),
        (40901, 42201, 42205, 42208, 42209, 42210),
        is_led=True,
    ),
    Endpoint(
        "GET",
        VERSION_PATH,
        subject_resource.get_version,
        "A version: a number, `latest` or `-1`.",
        (*_SHOWN, DELETED),
        (40401, 40402, 42201, 42202, 42208),
    ),
    Endpoint(
        "DELETE",
        VERSION_PATH,
        subject_resource.delete_version,
        "Deletes a version; the answer is its number.",
        (PERMANENT,),
        (40401, 40402, 40406, 40407, 42202, 42205, 42206, 42208),
        is_led=True,
    ),
    Endpoint(
        "GET",
        f"{VERSION_PATH}/schema",
        subject_resource.get_version_text,
        "Its text alone.",
        (FORMAT, DELETED),
        (40401, 40402, 42201, 42202, 42208),
    ),
    Endpoint(
        "GET",
        f"{VERSION_PATH}/referencedby",
        subject_resource.list_referrers,
        "The ids of the schemas that refer to it.",
        (DELETED, *PAGING),
        (404, 40401, 40402, 42202, 42208),
    ),
    Endpoint(
        "POST",
        f"{VERSION_PATH}/tags",
        subject_resource.tag_version,
        "Registers it anew with other tags, metadata or rules.",
        (),
        (40401, 40402, 40901, 42201, 42202, 42205, 42208, 42209, 42210),
        is_led=True,
    ),
)

_CHECKS: Final = (
    Endpoint(
        "POST",
        CHECKS_PATH,
        compatibility_resource.check_subject,
        "Whether the schema in the body could become the next version.",
        (NORMALIZE, VERBOSE),
        (42201, 42208),
    ),
    Endpoint(
        "POST",
        f"{CHECKS_PATH}/{{version}}",
        compatibility_resource.check_version,
        "Whether it goes with one version.",
        (NORMALIZE, VERBOSE),
        (40401, 40402, 42201, 42202, 42208),
    ),
)

_SETTINGS: Final = (
    Endpoint("GET", "/config", setting_resource.get_config, "The settings of the registry.", (DEFAULT_TO_GLOBAL,)),
    Endpoint(
        "PUT",
        "/config",
        setting_resource.change_config,
        "Changes settings of the registry.",
        (),
        (42203, 42205, 42208, 42210),
        is_led=True,
    ),
    Endpoint(
        "DELETE",
        "/config",
        setting_resource.delete_config,
        "Takes the settings of the registry away; the answer are those that held.",
        (),
        (42205,),
        is_led=True,
    ),
    Endpoint(
        "GET",
        "/config/{subject}",
        setting_resource.get_config,
        "The settings of a subject or of a context.",
        (DEFAULT_TO_GLOBAL,),
        (40408, 42208),
    ),
    Endpoint(
        "PUT",
        "/config/{subject}",
        setting_resource.change_config,
        "Changes them.",
        (),
        (42203, 42205, 42208, 42210),
        is_led=True,
    ),
    Endpoint(
        "DELETE",
        "/config/{subject}",
        setting_resource.delete_config,
        "Takes them away; the answer are those that were set.",
        (),
        (40401, 42205, 42208),
        is_led=True,
    ),
    Endpoint("GET", "/mode", setting_resource.get_mode, "The mode of the registry.", (DEFAULT_TO_GLOBAL,)),
    Endpoint("PUT", "/mode", setting_resource.change_mode, "Changes it.", (FORCE,), (42204, 42205), is_led=True),
    Endpoint(
        "DELETE",
        "/mode",
        setting_resource.delete_mode,
        "Takes it away; the answer is the one that held.",
        (RECURSIVE,),
        (42205,),
        is_led=True,
    ),
    Endpoint(
        "GET",
        "/mode/{subject}",
        setting_resource.get_mode,
        "The mode of a subject or of a context.",
        (DEFAULT_TO_GLOBAL,),
        (40409, 42208),
    ),
    Endpoint(
        "PUT",
        "/mode/{subject}",
        setting_resource.change_mode,
        "Changes it.",
        (FORCE,),
        (42204, 42205, 42206, 42208),
        is_led=True,
    ),
    Endpoint(
        "DELETE",
        "/mode/{subject}",
        setting_resource.delete_mode,
        "Takes it away; the answer is the one that was set.",
        (RECURSIVE,),
        (40401, 42205, 42208),
        is_led=True,
    ),
)

_SERVER: Final = (
    Endpoint("GET", "/contexts", subject_resource.list_contexts, "All contexts.", PAGING, (404,)),
    Endpoint(
        "DELETE",
        "/contexts/{context}",
        subject_resource.delete_context,
        "Deletes a context that has no subjects. No answer: status 204.",
        (),
        (40401, 42205, 42208, 42211),
        is_led=True,
    ),
    Endpoint("GET", "/", server_resource.get_root, "Nothing: the registry is there."),
    Endpoint("POST", "/", server_resource.get_root, "Nothing, too."),
    Endpoint(
        "GET",
        "/v1/metadata/id",
        server_resource.get_cluster_ids,
        "The ids of the cluster and of the group of registries.",
    ),
    Endpoint("GET", "/v1/metadata/version", server_resource.get_release, "Ottla's version."),
    Endpoint("GET", "/v1/metadata/deployment", server_resource.get_deployment, "What kind of registry it is."),
)

# By what they are about, for the reference.
SECTIONS: Final = {
    "Schemas": _SCHEMAS,
    "Subjects and versions": _SUBJECTS,
    "Compatibility": _CHECKS,
    "Settings and modes": _SETTINGS,
    "Contexts, and the registry itself": _SERVER,
}
ENDPOINTS: Final = tuple(endpoint for section in SECTIONS.values() for endpoint in section)
