"""Whether a principal may do what a request asks for."""

from typing import Protocol

from ottla.security.permissions import Permission


class Authorizer(Protocol):
    """Asked once for each request, before its handler runs."""

    def is_allowed(self, principal: str, permission: Permission) -> bool: ...


class AllowEverything:
    """Until there are ACLs, everybody may do everything."""

    def is_allowed(self, principal: str, permission: Permission) -> bool:
        del principal, permission
        return True
