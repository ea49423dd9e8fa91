"""What Schemathesis has to know of this service: see ../../scripts/fuzz.ts."""

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
# The organization, the project, the user and the key that the run needs to its end.
PROTECTED = set(json.loads(os.environ["FUZZ_PROTECTED"]))

schemathesis.openapi.media_type(
    "application/x-ndjson",
    st.lists(st.just(b'{"event": "seen", "distinct_id": "someone"}')).map(b"\n".join),
)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what would end the run for everything after it."""
    of = str((case.path_parameters or {}).get("id", ""))
    if case.path.startswith("/api/personal_api_keys/{id}"):
        return case.method.upper() == "GET" or of not in PROTECTED
    if case.path.endswith(("/organizations/{id}", "/projects/{id}")):
        return case.method.upper() != "DELETE" or of not in PROTECTED
    return True


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops what expected.toml lists."""
    return not any(matches(entry, failure, case, response) for entry in EXPECTED)


def sent(response):
    """The body of the request, as far as it is text."""
    body = response.request.body or b""
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)


def matches(entry, failure, case, response):
    if entry["failure"] != type(failure).__name__:
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
