# syntax=docker/dockerfile:1.24.0@sha256:87999aa3d42bdc6bea60565083ee17e86d1f3339802f543c0d03998580f9cb89
# One image for API, workers, scheduler and migrations; the command of a container selects its role.
# Base images are pinned by digest. To update one, replace tag and digest together.

FROM node:24.19.0-bookworm-slim@sha256:3638d9a6fe4030bd716be989438248074489337ba3275657f93595428be4fc03 AS interface
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit
COPY frontend/ ./
RUN npx --no-install vite build --logLevel warn

FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS tools
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PYTHON_DOWNLOADS=never \
    UV_SYSTEM_CERTS=1 \
    PYTHONPATH=/src/backend
WORKDIR /src
# uv comes as it does for ./culprit up: by name and SHA-256, with Python's standard library.
COPY backend/culprit/__init__.py backend/culprit/__init__.py
COPY backend/culprit/launcher/__init__.py backend/culprit/launcher/progress.py backend/culprit/launcher/
COPY backend/culprit/launcher/install backend/culprit/launcher/install
RUN python -m culprit.launcher.install.fetch_uv /usr/local/bin/uv
COPY pyproject.toml uv.lock ./

# The native reader of perf.data. Debian's rustc-web is recent; it keeps one version per release.
FROM tools AS reader
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends cargo-web rustc-web gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=type=cache,target=/root/.cache/uv uv sync --frozen --only-group native
COPY backend/native backend/native
WORKDIR /src/backend/native
RUN --mount=type=cache,target=/root/.cargo/registry \
    /src/.venv/bin/maturin build --release --locked --quiet --interpreter python --out /wheels

FROM tools AS packages
COPY --from=reader /wheels /wheels
RUN --mount=type=cache,target=/root/.cache/uv \
    UV_PROJECT_ENVIRONMENT=/app/.venv uv sync --frozen --no-default-groups \
    && uv pip install --python /app/.venv/bin/python --no-deps /wheels/*.whl

FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
# perf reads imported perf.data files. Debian keeps one version per release; pinning it would break rebuilds.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends linux-perf \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /var/lib/culprit --shell /usr/sbin/nologin culprit \
    && install -d -o culprit -g culprit -m 700 /var/lib/culprit /store
WORKDIR /app
COPY --from=packages /app/.venv /app/.venv
COPY collectors collectors
COPY migrations migrations
COPY backend backend
COPY --from=interface /src/frontend/dist frontend/dist
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONPATH=/app/backend:/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CULPRIT_HOME=/var/lib/culprit
USER 10001:10001
EXPOSE 8040
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8040/healthz', timeout=4)"]
CMD ["uvicorn", "--factory", "culprit.server.web:create_app", "--host", "0.0.0.0", "--port", "8040", "--no-server-header", "--no-access-log"]
