"""What goes in and out about hosts, credentials, the allow-list and preflights."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints, model_validator

from culprit.auth.schemas import LabelName, LabelValue, Name, Strict

Sudo = Literal["none", "nopasswd", "password"]
Kind = Literal["key", "generated_key", "certificate", "agent", "password"]
HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$")]
# A name, an IPv4 or an IPv6 address; nothing that a resolver or a command line could read as more.
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


class CredentialIn(Strict):
    """What opens a host. Which fields belong to a kind is checked by the server.

    key: private_key (and its passphrase); certificate: private_key and certificate; password: password;
    generated_key: nothing, the answer holds the line for authorized_keys; agent: the fingerprint of the one
    key to offer, or nothing.
    """

    kind: Kind
    username: Username | None = None
    private_key: KeyText | None = None
    passphrase: Secret | None = None
    certificate: Annotated[str, Field(max_length=20_000)] | None = None
    password: Secret | None = None
    fingerprint: Fingerprint | None = None


class CredentialCreate(CredentialIn):
    """A credential with a name of its own, for several hosts."""

    name: Name


class CredentialRead(BaseModel):
    """What may be shown of a credential: never what opens."""

    id: UUID
    name: str
    kind: Kind
    username: str | None
    public: dict[str, Any]
    hosts: int
    created_at: datetime


class NetworkRuleCreate(Strict):
    """Addresses and ports that may be enrolled."""

    cidr: Annotated[str, Field(max_length=60)]
    port_from: Port = 22
    port_to: Port = 22
    note: Annotated[str, Field(max_length=200)] = ""

    @model_validator(mode="after")
    def ordered(self) -> NetworkRuleCreate:
        """port_from is not above port_to."""
        if self.port_from > self.port_to:
            raise ValueError("port_from is above port_to")
        return self


class NetworkRuleRead(BaseModel):
    """One line of the allow-list."""

    id: UUID
    cidr: str
    port_from: int
    port_to: int
    note: str
    created_at: datetime


class Named(BaseModel):
    """A reference with the name to show."""

    id: UUID
    name: str


class HostCredential(Named):
    """The credential of a host; `authorized_keys_line` is what to paste on the host for a generated key."""

    kind: Kind
    authorized_keys_line: str | None = None


class HostKey(BaseModel):
    """The pinned host key."""

    type: str
    fingerprint: str
    pinned_at: datetime | None


class LastRun(BaseModel):
    """The newest run on a host."""

    id: UUID
    state: str
    at: datetime


class HostRead(BaseModel):
    """A host. Without `host_key` nothing connects to it until a key was confirmed."""

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
    facts: dict[str, Any] | None
    facts_at: datetime | None
    last_run: LastRun | None
    captures: int
    created_at: datetime


class HostCreate(Strict):
    """A host to enrol.

    The key that somebody confirmed comes as its fingerprint (the server then asks the host for its key and
    refuses any other) or whole, as `host_key`, which needs no answer from the host.
    """

    name: HostName
    address: Address
    port: Port = 22
    username: Username
    credential_id: UUID | None = None
    credential: CredentialIn | None = None
    sudo: Sudo = "none"
    sudo_password: Secret | None = None
    jump_host_id: UUID | None = None
    labels: Labels = Field(default_factory=dict)
    max_silence_s: Silence = 90
    host_key_fingerprint: Fingerprint | None = None
    host_key: PublicKeyLine | None = None


class HostUpdate(Strict):
    """What may be changed later; a changed address or port is checked like a new one, and keeps the pin."""

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


class ScanKey(Strict):
    """Where to look for a host key."""

    address: Address
    port: Port = 22
    jump_host_id: UUID | None = None


class ScannedKey(BaseModel):
    """The key that a server shows. It is trusted by nobody until somebody confirms the fingerprint."""

    type: str
    fingerprint: str
    public_key: str


class Pin(Strict):
    """A confirmed fingerprint, and why it is pinned now."""

    fingerprint: Fingerprint
    reason: Reason
    host_key: PublicKeyLine | None = None


class PreflightRead(BaseModel):
    """What a look at a host found; see the table for the shapes."""

    id: UUID
    host_id: UUID
    state: Literal["queued", "running", "done", "failed"]
    at: datetime
    ended_at: datetime | None
    facts: dict[str, Any] | None
    checks: list[Any] | None
    collectors: list[Any] | None
    clock: dict[str, Any] | None
    timings: dict[str, Any] | None
    failure: dict[str, Any] | None


class ImportDefaults(Strict):
    """What the text itself does not say."""

    username: Username | None = None
    port: Port | None = None
    credential_id: UUID | None = None
    sudo: Sudo = "none"
    labels: Labels = Field(default_factory=dict)
    jump_host_id: UUID | None = None


class HostImport(Strict):
    """Many hosts at once. With `dry_run` nothing is changed; names are resolved, no host is contacted."""

    format: Literal["ssh_config", "ansible", "csv", "known_hosts"]
    text: Annotated[str, Field(max_length=1 << 20)]
    defaults: ImportDefaults = ImportDefaults()
    dry_run: bool = True


class ImportRow(BaseModel):
    """One host that the text names, and what becomes of it; `reason` is a sentence."""

    line: int
    name: str
    address: str
    port: int
    username: str
    labels: dict[str, str]
    fingerprint: str | None
    verdict: Literal["ok", "exists", "refused", "incomplete", "added"]
    reason: dict[str, Any] | None


class ImportAnswer(BaseModel):
    """All verdicts, and how many hosts were added."""

    rows: list[ImportRow]
    added: int
