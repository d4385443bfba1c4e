"""Requests and responses of hosts, credentials, the network allow-list and preflight checks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from culprit.accounts.schemas import LabelName, LabelValue, Name
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, Message, MessageRef, RequestModel

Sudo = Literal["none", "nopasswd", "password"]
CredentialKind = Literal["key", "generated_key", "certificate", "agent", "password"]
HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$")]
# A name, an IPv4 or an IPv6 address, without characters that are special to a resolver or a command line.
Address = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9:][A-Za-z0-9_.:-]{0,252}$")]
Username = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}\$?$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Labels = Annotated[dict[LabelName, LabelValue], Field(max_length=30)]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]
PublicKeyLine = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ssh|ecdsa)[a-z0-9@.-]{1,40} [A-Za-z0-9+/=]{16,4000}( .*)?$", max_length=4400
    ),
]
KeyText = Annotated[SecretStr, Field(max_length=20_000)]
Secret = Annotated[SecretStr, Field(min_length=1, max_length=1024)]
Silence = Annotated[int, Field(ge=10, le=600)]
Reason = Annotated[str, StringConstraints(min_length=3, max_length=500, strip_whitespace=True)]


class CredentialSpec(RequestModel):
    """A credential. The server checks which fields belong to a kind.

    key: private_key (and its passphrase); certificate: private_key and certificate; password: password;
    generated_key: nothing, the response contains the line for authorized_keys; agent: the fingerprint of the
    key to offer, or nothing.
    """

    kind: CredentialKind
    username: Username | None = None
    private_key: KeyText | None = None
    passphrase: Secret | None = None
    certificate: Annotated[str, Field(max_length=20_000)] | None = None
    password: Secret | None = None
    fingerprint: Fingerprint | None = None


class CredentialCreate(CredentialSpec):
    """A named credential that several hosts can use."""

    name: Name


class PublicCredential(BaseModel):
    """The parts of a credential that are no secret."""

    model_config = ConfigDict(extra="allow")

    authorized_keys_line: str | None = None
    fingerprint: str | None = None


class CredentialResponse(BaseModel):
    """The public part of a credential."""

    id: UUID
    name: str
    kind: CredentialKind
    username: str | None
    public: Annotated[Json, DocumentedAs(PublicCredential)]
    hosts: int
    created_at: datetime


class NetworkRuleCreate(RequestModel):
    """Addresses and ports of hosts that can be added."""

    cidr: Annotated[str, Field(max_length=60)]
    port_from: Port = 22
    port_to: Port = 22
    note: Annotated[str, Field(max_length=200)] = ""

    @model_validator(mode="after")
    def validate_port_order(self) -> NetworkRuleCreate:
        """Require that port_from is not above port_to."""
        if self.port_from > self.port_to:
            raise ValueError("port_from is above port_to")
        return self


class NetworkRuleResponse(BaseModel):
    """A rule of the network allow-list."""

    id: UUID
    cidr: str
    port_from: int
    port_to: int
    note: str
    created_at: datetime


class Named(BaseModel):
    """An ID with a name."""

    id: UUID
    name: str


class HostCredential(Named):
    """The credential of a host; add `authorized_keys_line` to the host for a generated key."""

    kind: CredentialKind
    authorized_keys_line: str | None = None


class HostKey(BaseModel):
    """The trusted host key."""

    type: str
    fingerprint: str
    trusted_at: datetime | None


class LastRun(BaseModel):
    """The newest run on a host."""

    id: UUID
    state: str
    at: datetime


class HostFacts(BaseModel):
    """Facts of a host that screens show. A host has more of them."""

    model_config = ConfigDict(extra="allow")

    kernel: str | None = None
    distro: str | None = None
    arch: str | None = None
    cpus: int | None = None
    numa_nodes: int | None = None
    cgroup: str | int | None = None
    mem_bytes: int | None = None


class PreflightCheck(BaseModel):
    """One check of a preflight: its state, the measured value, and how to correct it."""

    id: str
    state: Literal["ok", "degraded", "missing"]
    value: str | float | None
    reason: Message | None
    remedy: Message | None


class PreflightCollector(BaseModel):
    """Whether one collector works on the host, and with which collection method."""

    id: str
    state: Literal["works", "degrades", "unavailable"]
    method: str | None
    reason: Message | None
    remedy: Message | None


class PreflightClock(BaseModel):
    """Offset of the host clock to the server clock."""

    offset_ms: float
    uncertainty_ms: float


class PreflightTimings(BaseModel):
    """Durations of the connection steps, in milliseconds."""

    connect_ms: float | None = None
    login_ms: float | None = None
    fork_ms: float | None = None
    rtt_ms: float | None = None


class HostResponse(BaseModel):
    """A host. Without `host_key`, it is not contacted until a key is trusted."""

    id: UUID
    name: str
    address: str
    port: int
    username: str
    credential: HostCredential | None
    sudo: Sudo
    jump_host: Named | None
    labels: dict[str, str]
    state: Literal["active", "imported", "retired"]
    host_key: HostKey | None
    max_silence_s: int
    allows_ptrace: bool
    facts: Annotated[Json, DocumentedAs(HostFacts)] | None
    facts_at: datetime | None
    last_run: LastRun | None
    captures: int
    created_at: datetime


class HostCreate(RequestModel):
    """A host to add.

    The confirmed key is given by its fingerprint (the server then reads the host's key and refuses any
    other), or completely as `host_key`, which needs no connection.
    """

    name: HostName
    address: Address
    port: Port = 22
    username: Username
    credential_id: UUID | None = None
    credential: CredentialSpec | None = None
    sudo: Sudo = "none"
    sudo_password: Secret | None = None
    jump_host_id: UUID | None = None
    labels: Labels = Field(default_factory=dict)
    max_silence_s: Silence = 90
    host_key_fingerprint: Fingerprint | None = None
    host_key: PublicKeyLine | None = None


class HostUpdate(RequestModel):
    """A change. A new address or port is validated like that of a new host, and the trusted key is kept."""

    name: HostName | None = None
    address: Address | None = None
    port: Port | None = None
    username: Username | None = None
    credential_id: UUID | None = None
    sudo: Sudo | None = None
    sudo_password: Secret | None = None
    jump_host_id: UUID | None = None
    no_jump_host: bool = False
    labels: Labels | None = None
    max_silence_s: Silence | None = None
    allows_ptrace: bool | None = None


class HostKeyScanRequest(RequestModel):
    """Where to read a host key."""

    address: Address
    port: Port = 22
    jump_host_id: UUID | None = None


class HostKeyScanResponse(BaseModel):
    """The key of a server. It is not trusted until a user confirms the fingerprint."""

    type: str
    fingerprint: str
    public_key: str


class HostKeyUpdate(RequestModel):
    """A confirmed fingerprint, and why it is trusted now."""

    fingerprint: Fingerprint
    reason: Reason
    host_key: PublicKeyLine | None = None


class PreflightResponse(BaseModel):
    """The result of a preflight check; the table describes the shapes."""

    id: UUID
    host_id: UUID
    state: Literal["queued", "running", "done", "failed"]
    at: datetime
    ended_at: datetime | None
    facts: Annotated[Json, DocumentedAs(HostFacts)] | None
    checks: list[Annotated[Json, DocumentedAs(PreflightCheck)]] | None
    collectors: list[Annotated[Json, DocumentedAs(PreflightCollector)]] | None
    clock: Annotated[Json, DocumentedAs(PreflightClock)] | None
    timings: Annotated[Json, DocumentedAs(PreflightTimings)] | None
    failure: MessageRef | None


class HostImportDefaults(RequestModel):
    """Values for hosts that the text does not set."""

    username: Username | None = None
    port: Port | None = None
    credential_id: UUID | None = None
    sudo: Sudo = "none"
    labels: Labels = Field(default_factory=dict)
    jump_host_id: UUID | None = None


class HostImportRequest(RequestModel):
    """A list of hosts. With `dry_run`, nothing is changed; names are resolved, hosts are not contacted."""

    format: Literal["ssh_config", "ansible", "csv", "known_hosts"]
    text: Annotated[str, Field(max_length=1 << 20)]
    defaults: HostImportDefaults = HostImportDefaults()
    dry_run: bool = True


class HostImportRow(BaseModel):
    """One host of the text and its result; `reason` is a message."""

    line: int
    name: str
    address: str
    port: int
    username: str
    labels: dict[str, str]
    fingerprint: str | None
    verdict: Literal["ok", "exists", "refused", "incomplete", "added"]
    reason: MessageRef | None


class HostImportResponse(BaseModel):
    """All results, and how many hosts were added."""

    rows: list[HostImportRow]
    added: int
