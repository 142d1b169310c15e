"""Django settings: one file for every place, told apart by the environment.

Each variable is read through :mod:`portal.env` with its type and default, and says in a line why it is there.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF

from portal import env

BASE_DIR = Path(__file__).resolve().parent.parent

# Where this process may write: the SQLite file, unless DATABASE_URL points elsewhere.
DATA = Path(env.text("DATA", str(BASE_DIR / ".run")))
# Tracebacks in the browser. Never in production.
DEBUG = env.flag("DEBUG")
# Demo logins with a known password exist and work. Never in production.
DEMO = env.flag("DEMO")
# Signs sessions and CSRF tokens; every web process of one portal needs the same. SECRET_KEY_FILE for a mounted secret.
SECRET_KEY = env.secret("SECRET_KEY")
# Without one a key is made up for this process alone: enough for commands and tests; portal.asgi refuses to serve with it.
SECRET_KEY_IS_MADE_UP = not SECRET_KEY
SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(50)
# The names this portal is reached by.
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ("127.0.0.1", "localhost", "[::1]"))
# Origins that may post forms when a proxy changes scheme or host, such as https://gpu.example.org.
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
# How many proxies stand before this portal: that many entries from the right of X-Forwarded-For are believed.
TRUSTED_PROXIES = env.whole("TRUSTED_PROXIES", 0)
# The browser reaches the portal over HTTPS: cookies are marked Secure and HSTS is sent.
HTTPS = env.flag("HTTPS")

# The members of this Kubernetes group are hosters.
HOSTER_GROUP = env.text("HOSTER_GROUP", "cozystack-cluster-admin")
# The kubeconfig of the service; empty means $KUBECONFIG's default places, then the pod's service account.
KUBECONFIG = env.text("KUBECONFIG") or None
# How calls are made as the user: impersonation, or passthrough of the user's own token (needs OIDC).
KUBE_MODE = env.choice("KUBE_MODE", "impersonation", among=("impersonation", "passthrough"))

# How often everything is listed afresh, whatever the watch says.
SYNC_SECONDS = env.seconds("SYNC_SECONDS", 60)
# Rows that nobody has vouched for this long are shown with their age, and capacity reads as unknown.
STALE_SECONDS = env.seconds("STALE_SECONDS", 30)
# A process that has given no sign of life this long counts as down.
PULSE_SECONDS = env.seconds("PULSE_SECONDS", 15)
# Nudges of one kind closer together than this are sent to the browser as one.
LIVE_DEBOUNCE_SECONDS = env.seconds("LIVE_DEBOUNCE_SECONDS", 0.1)
# How often an open event stream checks that its session still holds.
LIVE_RECHECK_SECONDS = env.seconds("LIVE_RECHECK_SECONDS", 20)

# The queue's broker and the channel of nudges. Losing it loses nothing but speed.
REDIS_URL = env.text("REDIS_URL", "redis://127.0.0.1:6379/0")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "csp",
    "axes",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "portal",
    "portal.api",
    "catalog",
    "claims",
]

MIDDLEWARE = [
    "portal.middleware.RequestIdMiddleware",
    "portal.once_a_request.OnceARequestMiddleware",
    "portal.middleware.NoNulMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.middleware.FreshPagesMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "portal.middleware.SignedInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "portal.context.portal",
            ],
        },
    }
]

# The database: sqlite:///path or postgres://user:password@host/name.
DATABASE_URL = env.secret("DATABASE_URL") or f"sqlite:///{DATA / 'portal.sqlite3'}"
_database: dict[str, Any] = dict(dj_database_url.parse(DATABASE_URL))
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # Several processes write: IMMEDIATE and a timeout, or a read that turns into a write is "locked" at once.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    _database["OPTIONS"] = {"connect_timeout": 5, **_database.get("OPTIONS", {})}
DATABASES: dict[str, Any] = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

AUTH_USER_MODEL = "portal.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "portal.login.LocalUserBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "catalog"
LOGOUT_REDIRECT_URL = "login"

# Ten wrong passwords for one name from one address: a pause of a quarter of an hour.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "portal.address.client_address"
AXES_LOCKOUT_CALLABLE = "portal.login.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

MESSAGE_TAGS = {10: "unknown", 20: "use", 25: "ok", 30: "low", 40: "out"}

SESSION_COOKIE_NAME = "gpu_portal_session"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "portal.login.csrf_failure"

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # whether all subdomains are HTTPS is for their owner to say
    "security.W008",  # the proxy that ends TLS redirects; health checks come over plain HTTP
    "security.W021",  # so is being on the browsers' preload list
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Where collectstatic puts the files, as in the image. Without it they are served from static/, as in a checkout.
STATIC_ROOT = env.text("STATIC_ROOT") or None
WHITENOISE_USE_FINDERS = DEBUG or DEMO or STATIC_ROOT is None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "portal.api.problems.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GPU Portal",
    "DESCRIPTION": "Offers, orders and holds of GPUs. Bodies are the Kubernetes shapes; errors are problem+json.",
    "VERSION": "v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
# A task is acknowledged when it is done: a killed worker's task runs again, and every task may run twice.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TASK_TIME_LIMIT = 300
CELERY_TASK_DEFAULT_QUEUE = "gpu-portal"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A page that asks for a task must not hang on a dead broker.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 900,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "health_check_interval": 10,
}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sync everything": {
        "task": "portal.tasks.sync_everything",
        "schedule": SYNC_SECONDS,
        # Late is better than never where the machine is busy; a little later the next one makes it needless.
        "options": {"expires": SYNC_SECONDS + 30},
    },
    "worker pulse": {
        "task": "portal.tasks.pulse",
        "schedule": PULSE_SECONDS / 3,
        "options": {"expires": PULSE_SECONDS},
    },
    "forget old tombstones": {"task": "portal.tasks.forget_tombstones", "schedule": 600.0},
    "forget expired sessions": {"task": "portal.tasks.forget_sessions", "schedule": 86400.0},
    "forget old answers": {"task": "portal.api.tasks.forget_answers", "schedule": 3600.0},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Redirected, standard error ends in the logger that writes to it, and our lines are lost.
CELERY_WORKER_REDIRECT_STDOUTS = False

LOGGING_CONFIG = None
# Lines of JSON for machines, or coloured text for people.
LOG_JSON = env.flag("LOG_JSON", default=not (DEBUG or DEMO))
LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", among=("DEBUG", "INFO", "WARNING", "ERROR"))
