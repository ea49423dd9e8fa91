"""Lists projects, creates an export and an invite with a client that openapi-python-client generated."""

import sys

from tenantry_client import AuthenticatedClient
from tenantry_client.api.batch_exports_of_a_project import create_project_batch_export
from tenantry_client.api.invites import create_invite
from tenantry_client.api.projects import list_projects
from tenantry_client.models import (
    BatchExport,
    CreateInviteBody,
    CreateProjectBatchExportBody,
    CreateProjectBatchExportBodyInterval,
    HTTPDestination,
    HTTPDestinationConfig,
    NewInvite,
    ProjectPage,
)

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)

projects = list_projects.sync(client=client)
assert isinstance(projects, ProjectPage)
for project in projects.results:
    print("project", project.id, project.name)

export = create_project_batch_export.sync(
    str(projects.results[0].id),
    client=client,
    body=CreateProjectBatchExportBody(
        name="From Python",
        interval=CreateProjectBatchExportBodyInterval.EVERY_5_MINUTES,
        destination=HTTPDestination(
            type_="HTTP",
            config=HTTPDestinationConfig(url="https://example.com/events", token="secret"),
        ),
        paused=True,
    ),
)
assert isinstance(export, BatchExport)
destination = export.destination
print("export", export.id, export.name, destination.type_.value, destination.config["url"])

invite = create_invite.sync(
    "@current",
    client=client,
    body=CreateInviteBody(target_email="python@example.com", send_email=False),
)
assert isinstance(invite, NewInvite)
print("invite", invite.id, invite.target_email)
