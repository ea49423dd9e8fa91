"""Settings of a Django REST framework service on PostgreSQL."""

import os

SECRET_KEY = "a secret for a benchmark"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "service.api"
WSGI_APPLICATION = "service.wsgi.application"
INSTALLED_APPS = ["rest_framework", "service"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
USE_TZ = True
TIME_ZONE = "UTC"
APPEND_SLASH = False
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"],
        "PASSWORD": os.environ["PGPASSWORD"],
        "NAME": os.environ["PGDATABASE"],
        # Connections stay open.
        "CONN_MAX_AGE": None,
    }
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["service.access.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["service.access.IsMember"],
    "DEFAULT_THROTTLE_CLASSES": ["service.access.KeyThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 100,
    "UNAUTHENTICATED_USER": None,
}
