"""Checks a SCIM endpoint with scim2-tester. Arguments: the base URL, a token, and the domain whose addresses userName takes.
Writes a line for each check: the status, what was checked, and why it failed."""

import sys
import uuid

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server, filling

url, token, domain = sys.argv[1:]

random_value = filling.generate_random_value


def value_for(context, path, mutability=None, required=None):
    """The tester's texts, but an address of the domain as userName: the schema of a server can't say which ones it takes."""
    value = random_value(context, path, mutability, required)
    if value is not None and str(path).lower().endswith("username"):
        return f"{uuid.uuid4()}@{domain}"
    return value


filling.generate_random_value = value_for
for module in list(sys.modules.values()):
    if getattr(module, "generate_random_value", None) is random_value:
        module.generate_random_value = value_for

client = Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
for result in check_server(SyncSCIMClient(client)):
    reason = " ".join(str(result.reason).split())
    print(f"{result.status.name}: {result.title} {result.resource_type or ''} {reason}")
