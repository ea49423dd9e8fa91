"""The operations, as a team would typically write them with generic views and model serializers."""

from datetime import timedelta
from hashlib import sha256
from secrets import token_urlsafe

from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework import exceptions, generics, serializers

from .models import ActivityLog, Domain, Invite, Membership, User


class UserSerializer(serializers.ModelSerializer):
    class Meta:
        model = User
        fields = [
            "id",
            "uuid",
            "distinct_id",
            "first_name",
            "last_name",
            "email",
            "is_email_verified",
            "mascot_config",
        ]


class MemberSerializer(serializers.ModelSerializer):
    user = UserSerializer()
    is_2fa_enabled = serializers.BooleanField(source="user.is_2fa_enabled")
    has_social_auth = serializers.BooleanField(source="user.has_social_auth")

    class Meta:
        model = Membership
        fields = [
            "id",
            "user",
            "level",
            "joined_at",
            "updated_at",
            "is_2fa_enabled",
            "has_social_auth",
        ]


class DomainSerializer(serializers.ModelSerializer):
    is_verified = serializers.SerializerMethodField()
    has_saml = serializers.SerializerMethodField()

    class Meta:
        model = Domain
        exclude = ["organization"]

    def get_is_verified(self, domain):
        return domain.verified_at is not None

    def get_has_saml(self, domain):
        return bool(domain.saml_entity_id and domain.saml_acs_url and domain.saml_x509_cert)


class InviteSerializer(serializers.ModelSerializer):
    created_by = UserSerializer(read_only=True)
    is_expired = serializers.SerializerMethodField()
    level = serializers.ChoiceField(choices=[1, 8, 15], default=1)

    class Meta:
        model = Invite
        exclude = ["organization", "token_hash"]
        read_only_fields = ["emailing_attempt_made"]

    def get_is_expired(self, invite):
        return invite.created_at + timedelta(days=3) < timezone.now()


class Members(generics.ListAPIView):
    serializer_class = MemberSerializer

    def get_queryset(self):
        return (
            Membership.objects.select_related("user")
            .filter(organization=self.membership.organization, user__is_active=True)
            .order_by("-joined_at", "-id")
        )


class Domains(generics.ListAPIView):
    serializer_class = DomainSerializer

    def get_queryset(self):
        return Domain.objects.filter(organization=self.membership.organization).order_by("domain")


class Invites(generics.CreateAPIView):
    serializer_class = InviteSerializer

    @transaction.atomic
    def perform_create(self, serializer):
        organization, user = self.membership.organization, self.request.user
        email = serializer.validated_data["target_email"].lower()
        if serializer.validated_data["level"] > self.membership.level:
            raise exceptions.PermissionDenied()
        if Membership.objects.filter(organization=organization, user__email=email).exists():
            raise exceptions.ValidationError("Already a member.")
        Invite.objects.filter(organization=organization, target_email=email).delete()
        self.token = token_urlsafe(32)
        invite = serializer.save(
            organization=organization,
            created_by=user,
            target_email=email,
            token_hash=sha256(self.token.encode()).hexdigest(),
        )
        ActivityLog.objects.create(
            organization=organization,
            user=user,
            activity="created",
            scope="Invite",
            item_id=str(invite.pk),
            name=invite.target_email,
        )

    def create(self, request, *args, **kwargs):
        response = super().create(request, *args, **kwargs)
        response.data["accept_url"] = request.build_absolute_uri(f"/invites/{self.token}")
        return response


BASE = "api/organizations/<uuid:organization_id>"

urlpatterns = [
    path(f"{BASE}/members", Members.as_view()),
    path(f"{BASE}/domains", Domains.as_view()),
    path(f"{BASE}/invites", Invites.as_view()),
]
