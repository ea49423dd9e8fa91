"""The tables that the operations need, with the fields of the responses."""

import uuid

from django.db import models


class User(models.Model):
    uuid = models.UUIDField(default=uuid.uuid4, unique=True)
    distinct_id = models.CharField(max_length=200)
    first_name = models.CharField(max_length=150)
    last_name = models.CharField(max_length=150)
    email = models.EmailField(unique=True)
    is_email_verified = models.BooleanField(default=False)
    mascot_config = models.JSONField(default=dict)
    is_active = models.BooleanField(default=True)
    is_2fa_enabled = models.BooleanField(default=False)
    has_social_auth = models.BooleanField(default=False)
    is_authenticated = True


class Organization(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=64)


class Membership(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.CASCADE)
    level = models.IntegerField()
    joined_at = models.DateTimeField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "user"], name="one_membership")]
        indexes = [models.Index(fields=["organization", "-joined_at", "-id"], name="newest_members")]


class Key(models.Model):
    user = models.ForeignKey(User, models.CASCADE)
    hash = models.CharField(max_length=64, unique=True)


class Domain(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="domains")
    domain = models.CharField(max_length=128, unique=True)
    verified_at = models.DateTimeField(null=True)
    verification_challenge = models.CharField(max_length=128)
    jit_provisioning_enabled = models.BooleanField(default=False)
    sso_enforcement = models.CharField(max_length=28, blank=True)
    saml_entity_id = models.CharField(max_length=512, null=True)
    saml_acs_url = models.CharField(max_length=512, null=True)
    saml_x509_cert = models.TextField(null=True)


class Invite(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="invites")
    target_email = models.EmailField()
    first_name = models.CharField(max_length=30, blank=True)
    emailing_attempt_made = models.BooleanField(default=False)
    level = models.IntegerField(default=1)
    created_by = models.ForeignKey(User, models.CASCADE)
    message = models.TextField(null=True)
    private_project_access = models.JSONField(default=list)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "target_email"], name="one_invite")
        ]


class ActivityLog(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    organization = models.ForeignKey(Organization, models.CASCADE)
    user = models.ForeignKey(User, models.CASCADE)
    activity = models.CharField(max_length=50)
    scope = models.CharField(max_length=50)
    item_id = models.CharField(max_length=50)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
