"""Schemathesis' hooks for this service: see main.ts."""

import json
import os
import re
from pathlib import Path

import schemathesis
from hypothesis import strategies as st

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

EXPECTED = tomllib.loads((Path(__file__).parent / "expected.toml").read_text())["expected"]
# Ids that the run needs until its end: they must not be deleted.
PROTECTED = set(json.loads(os.environ["FUZZ_PROTECTED"]))

schemathesis.openapi.media_type(
    "application/x-ndjson",
    st.lists(st.just(b'{"event": "seen", "distinct_id": "someone"}')).map(b"\n".join),
)


@schemathesis.hook
def filter_case(context, case):
    """Skips requests that would make all later ones fail, and empty If-Match headers, which don't reach the worker."""
    if (case.headers or {}).get("If-Match") == "":
        return False
    id_in_path = str((case.path_parameters or {}).get("id", ""))
    if case.path.startswith("/api/personal_api_keys/{id}"):
        return case.method.upper() == "GET" or id_in_path not in PROTECTED
    if case.path.endswith(("/organizations/{id}", "/projects/{id}")):
        return case.method.upper() != "DELETE" or id_in_path not in PROTECTED
    return True


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Ignores the failures that expected.toml lists."""
    return not any(matches(entry, failure, case, response) for entry in EXPECTED)


def sent(response):
    """The body of the request as text."""
    body = response.request.body or b""
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)


def matches(entry, failure, case, response):
    if not re.fullmatch(entry["failure"], type(failure).__name__):
        return False
    if not re.fullmatch(entry.get("operation", ".*"), f"{case.method.upper()} {case.path}"):
        return False
    if response is None:
        return False
    if entry.get("status", response.status_code) != response.status_code:
        return False
    if not re.fullmatch(entry.get("sent", ".*"), sent(response), re.DOTALL):
        return False
    try:
        body = response.json()
    except Exception:
        body = {}
    body = body if isinstance(body, dict) else {}
    return all(
        re.fullmatch(entry[name], str(body.get(name)), re.DOTALL)
        for name in ("code", "detail", "attr")
        if name in entry
    )
