"""Lists organizations with a client that is generated from the OpenAPI document."""
import sys

from generated import AuthenticatedClient
from generated.api.organizations import list_organizations

url, key = sys.argv[1:]
page = list_organizations.sync(client=AuthenticatedClient(base_url=url, token=key))
for organization in page.results:
    print(organization.id, organization.name)
