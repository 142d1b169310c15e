# One image for every process; the command chooses: web, mirror, worker, beat, controller (docs/operations.md).
# BASE: a Debian image with Python 3.11 as python3.
ARG BASE=python:3.11-slim-bookworm

# hadolint ignore=DL3006
FROM ${BASE} AS build
WORKDIR /src
COPY requirements/base.txt requirements/base.txt
RUN python3 -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/base.txt
COPY . .
RUN /venv/bin/python -m tools.build_css \
    && SECRET_KEY=only-for-collectstatic-not-kept-in-the-image-0123456789 ALLOWED_HOSTS=localhost \
       STATIC_ROOT=/src/staticfiles /venv/bin/python manage.py collectstatic --noinput

# hadolint ignore=DL3006
FROM ${BASE}
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STATIC_ROOT=/app/staticfiles
WORKDIR /app
COPY --from=build /venv /venv
COPY --from=build /src /app
RUN groupadd --system --gid 10001 portal \
    && useradd --system --uid 10001 --gid portal --no-create-home --home-dir /nonexistent portal
USER 10001:10001
EXPOSE 8000
CMD ["uvicorn", "portal.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--timeout-graceful-shutdown", "3"]
