"""Settings of one Culprit process: environment variables only.

`DATABASE_URL` and `REDIS_URL` have the form of libpq and redis-py; properties return the forms of SQLAlchemy
and kombu.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

SECRET_KEY_BYTES = 32
REPOSITORY = Path(__file__).resolve().parents[3]


class Settings(BaseSettings):
    """Settings for the operator. Names in the environment are those of the aliases."""

    model_config = SettingsConfigDict(populate_by_name=True, extra="ignore")

    home: Path = Field(default=REPOSITORY / ".culprit", validation_alias="CULPRIT_HOME")
    database_url: str = Field(default="postgresql://127.0.0.1/culprit", validation_alias="DATABASE_URL")
    redis_url: str = Field(default="redis://127.0.0.1:6379/0", validation_alias="REDIS_URL")

    s3_endpoint: str | None = Field(default=None, validation_alias="S3_ENDPOINT")
    s3_bucket: str | None = Field(default=None, validation_alias="S3_BUCKET")
    s3_region: str = Field(default="us-east-1", validation_alias="S3_REGION")
    s3_access_key_id: str | None = Field(default=None, validation_alias="S3_ACCESS_KEY_ID")
    s3_secret_access_key: SecretStr | None = Field(default=None, validation_alias="S3_SECRET_ACCESS_KEY")

    secret_key: SecretStr | None = Field(default=None, validation_alias="CULPRIT_SECRET_KEY")
    secret_key_file: Path | None = Field(default=None, validation_alias="CULPRIT_SECRET_KEY_FILE")
    secret_key_version: int = Field(default=1, ge=1, validation_alias="CULPRIT_SECRET_KEY_VERSION")
    # Previous keys, while their credentials are re-wrapped: "1:<base64>,2:<base64>".
    secret_keys_old: SecretStr | None = Field(default=None, validation_alias="CULPRIT_SECRET_KEYS_OLD")

    public_url: str = Field(default="http://127.0.0.1:8040", validation_alias="CULPRIT_PUBLIC_URL")
    # Addresses and networks of proxies whose X-Forwarded-For and -Proto are trusted, separated by commas. The
    # web server is started with the same value (`culprit.launcher.services.build_api_service`, docker-compose.yml).
    trusted_proxies: str = Field(default="", validation_alias="CULPRIT_TRUSTED_PROXIES")
    ui_dir: Path = Field(
        default=REPOSITORY / "frontend" / "dist", validation_alias=AliasChoices("CULPRIT_UI_DIR", "ui_dir")
    )
    upload_limit: int = Field(default=256 << 20, ge=1, validation_alias="CULPRIT_UPLOAD_LIMIT")  # bytes
    ssh_concurrency: int = Field(default=32, ge=1, le=500, validation_alias="CULPRIT_SSH_CONCURRENCY")
    # Watchers per worker: each has its own session in addition to those of captures.
    watcher_concurrency: int = Field(
        default=100, ge=1, le=1000, validation_alias="CULPRIT_WATCHER_CONCURRENCY"
    )
    # Age of the last heartbeat after which the runs of a worker are released.
    lease_seconds: int = Field(default=30, ge=5, le=300, validation_alias="CULPRIT_LEASE_SECONDS")
    parse_concurrency: int = Field(default=2, ge=1, le=64, validation_alias="CULPRIT_PARSE_CONCURRENCY")
    # A file that a worker or scheduler touches every ten seconds, for the health check of its container.
    alive_file: Path | None = Field(default=None, validation_alias="CULPRIT_ALIVE_FILE")
    session_hours: int = Field(default=24 * 7, ge=1, validation_alias="CULPRIT_SESSION_HOURS")
    # Whether a second person must approve a report before a link shows it without an account.
    report_approval: bool = Field(default=True, validation_alias="CULPRIT_REPORT_APPROVAL")
    # Requests of one API process that use the database at the same time; the others wait in order. PostgreSQL
    # must allow that many connections and 8 more for each API process, and 30 for workers and scheduler.
    request_connections: int = Field(default=20, ge=2, le=200, validation_alias="CULPRIT_REQUEST_CONNECTIONS")
    # Maximum number of open live streams: of one account, of one API process, of all API processes.
    streams_per_account: int = Field(default=12, ge=1, validation_alias="CULPRIT_STREAMS_PER_ACCOUNT")
    streams_per_process: int = Field(default=400, ge=1, validation_alias="CULPRIT_STREAMS_PER_PROCESS")
    streams_total: int = Field(default=1000, ge=1, validation_alias="CULPRIT_STREAMS_TOTAL")
    # Hours until each stored file is read again and compared with its SHA-256; 0 switches this off.
    file_check_hours: int = Field(default=24, ge=0, le=8760, validation_alias="CULPRIT_FILE_CHECK_HOURS")
    log_level: str = Field(default="INFO", validation_alias="CULPRIT_LOG_LEVEL")

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: str) -> str:
        for item in filter(None, (part.strip() for part in value.split(","))):
            try:
                ip_network(item)
            except ValueError:
                raise ValueError(
                    f"CULPRIT_TRUSTED_PROXIES names {item!r}: give addresses or networks, as in 10.0.0.5,10.1.0.0/24"
                ) from None
        return value

    @property
    def sqlalchemy_url(self) -> str:
        """`database_url` with the driver, for SQLAlchemy and Alembic."""
        scheme, rest = self.database_url.split("://", 1)
        return f"postgresql+psycopg://{rest}" if scheme in {"postgresql", "postgres"} else self.database_url

    @property
    def broker_url(self) -> str:
        """`redis_url` for kombu: a unix socket is `redis+socket://` there."""
        scheme, rest = self.redis_url.split("://", 1)
        return f"redis+socket://{rest}" if scheme == "unix" else self.redis_url

    @property
    def cookies_secure(self) -> bool:
        """Whether browsers reach this server over TLS."""
        return urlsplit(self.public_url).scheme == "https"

    def key_ring(self) -> dict[int, bytes]:
        """Key-encryption keys by version; the current one has version `secret_key_version`.

        Raises ValueError if no key is set or one is not 32 bytes of base64.
        """
        keys: dict[int, bytes] = {}
        old = self.secret_keys_old.get_secret_value() if self.secret_keys_old else ""
        for item in filter(None, (part.strip() for part in old.split(","))):
            version, _, text = item.partition(":")
            keys[int(version)] = decode_key(text)
        if self.secret_key is not None:
            current = self.secret_key.get_secret_value()
        elif self.secret_key_file is not None:
            current = self.secret_key_file.read_text(encoding="ascii")
        else:
            raise ValueError("set CULPRIT_SECRET_KEY or CULPRIT_SECRET_KEY_FILE (32 bytes, base64)")
        keys[self.secret_key_version] = decode_key(current)
        return keys


def decode_key(text: str) -> bytes:
    """Decode 32 bytes of base64. The error message never contains the key."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the secret key is not base64") from None
    if len(key) != SECRET_KEY_BYTES:
        raise ValueError(f"the secret key has {len(key)} bytes instead of {SECRET_KEY_BYTES}")
    return key


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """Return the settings of this process, read once."""
    return Settings()
