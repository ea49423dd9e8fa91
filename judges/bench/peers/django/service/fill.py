"""Creates the tables and an organization with members, a domain and a key. Prints the organization and the key."""

import json
import sys
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from uuid import UUID

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from service.models import Domain, Key, Membership, Organization, User  # noqa: E402

KEY = "a key for a benchmark"

call_command("migrate", run_syncdb=True, verbosity=0)
people = [
    User(
        uuid=UUID(int=i),
        distinct_id=str(UUID(int=i)),
        first_name="Lovelace" if i < 5 else "Grace",
        last_name=f"Person {i}",
        email=f"person-{i}@example.com",
    )
    for i in range(int(sys.argv[1]) - 1)
]
owner = User.objects.create(
    uuid=UUID(int=2**64), distinct_id="1", first_name="Ada", last_name="Owner", email="owner-1@example.com"
)
Key.objects.create(user=owner, hash=sha256(KEY.encode()).hexdigest())
organization = Organization.objects.create(name="Acme")
began = datetime(2025, 10, 9, tzinfo=timezone.utc)
Membership.objects.create(
    organization=organization, user=owner, level=15, joined_at=datetime.now(timezone.utc)
)
Membership.objects.bulk_create(
    Membership(organization=organization, user=user, level=1, joined_at=began + timedelta(minutes=i))
    for i, user in enumerate(User.objects.bulk_create(people))
)
Domain.objects.create(
    organization=organization, domain="example.com", verification_challenge="challenge"
)
print(json.dumps({"organization": str(organization.pk), "key": KEY}))
