"""OpenID Connect provider on loopback for tests: strict about requests, with configurable wrong answers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey

CLIENT, SECRET = "culprit", "s3cret:with colon+plus"
Claims = dict[str, Any]


@dataclass
class Provider:
    """`claims` are those of the user who signs in; the hooks change what is sent."""

    issuer: str
    redirect_uri: str = "http://testserver/api/v1/session/oidc/callback"
    claims: Claims = field(
        default_factory=lambda: {"sub": "u-1", "preferred_username": "lena", "groups": ["sre"]}
    )
    userinfo: Claims = field(default_factory=dict)
    document: Claims = field(default_factory=dict)
    token_claims: Callable[[Claims], Claims] = lambda claims: claims
    sign: Callable[[Claims], str] | None = None
    paths: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    gone: bool = False

    def rotate(self, key: Key) -> None:
        """Sign with this key from now on, and publish only this key."""
        self.keys = [key]

    def approve(self, url: str) -> dict[str, str]:
        """Sign the user in and return the parameters of the redirect.

        Asserts what a strict provider refuses.
        """
        parts = urlsplit(url)
        requested = {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}
        assert url.startswith(self.issuer + "/authorize?")
        assert requested["response_type"] == "code" and requested["client_id"] == CLIENT
        assert requested["redirect_uri"] == self.redirect_uri
        assert "openid" in requested["scope"].split() and requested["code_challenge_method"] == "S256"
        assert (
            len(requested["state"]) >= 43
            and len(requested["nonce"]) >= 43
            and len(requested["code_challenge"]) == 43
        )
        code = secrets.token_urlsafe(16)
        self.codes[code] = requested
        return {"code": code, "state": requested["state"], "iss": self.issuer}

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, Claims]:
        """Answer the token endpoint: every code once, for its client, its address and its verifier."""
        expected = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        if [unquote_plus(item) for item in expected.split(":")] != [CLIENT, SECRET]:
            return 401, {"error": "invalid_client"}
        code = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            code is None
            or challenge != code["code_challenge"]
            or form["redirect_uri"] != code["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        access = secrets.token_urlsafe(16)
        at = int(time.time())
        half = hashlib.sha256(access.encode()).digest()[:16]
        base = {"iss": self.issuer, "aud": CLIENT, "exp": at + 300, "iat": at, "auth_time": at, "nonce": code["nonce"],
                "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode()}  # fmt: skip
        claims = self.token_claims(base | self.claims)
        return 200, {
            "access_token": access,
            "token_type": "Bearer",
            "id_token": (self.sign or self.signed)(claims),
        }

    def signed(self, claims: Claims) -> str:
        """Return a token signed with the first key."""
        key = self.keys[0]
        return jwt.encode(
            {"alg": "RS256" if isinstance(key, RSAKey) else "ES256", "kid": key.kid}, claims, key
        )

    def hmac_signed(self, claims: Claims) -> str:
        """Return a token signed by HMAC with the public key: the known algorithm confusion."""
        head = {"alg": "HS256", "kid": self.keys[0].kid}
        message = ".".join(_text(json.dumps(part).encode()) for part in (head, claims))
        password = self.keys[0].as_pem(private=False)
        return f"{message}.{_text(hmac.digest(password, message.encode(), 'sha256'))}"

    def unsigned(self, claims: Claims) -> str:
        """Return a token with the algorithm `none`."""
        return ".".join(_text(json.dumps(part).encode()) for part in ({"alg": "none"}, claims)) + "."

    def well_known(self) -> Claims:
        """Return the discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/me",
            "end_session_endpoint": f"{self.issuer}/logout",
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
        } | self.document

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, Claims]:
        """Return the answer of a path."""
        if self.gone:
            return 503, {}
        if path == "/.well-known/openid-configuration":
            return 200, self.well_known()
        if path == "/jwks":
            return 200, {"keys": [{**key.as_dict(private=False), "use": "sig"} for key in self.keys]}
        if path == "/me":
            return 200, {"sub": self.claims["sub"]} | self.userinfo
        return self.exchange(form, authorization) if path == "/token" else (404, {})


def rsa(kid: str) -> RSAKey:
    """Return a new RSA key of 2048 bits, which takes a fifth of a second."""
    return RSAKey.generate_key(2048, {"kid": kid})


def curve(kid: str) -> ECKey:
    """Return a new key on P-256."""
    return ECKey.generate_key("P-256", {"kid": kid})


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


@contextmanager
def provider() -> Iterator[Provider]:
    """Serve until the end of the block."""
    provider = Provider("")

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.record_request({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.record_request({name: values[0] for name, values in parse_qs(body).items()})

        def record_request(self, form: dict[str, str]) -> None:
            provider.paths.append(self.path)
            status, result = provider.answer(self.path, form, self.headers.get("Authorization", ""))
            body = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    provider.rotate(curve("first"))
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def way_back(parameters: dict[str, str]) -> str:
    """Return the redirect address of the browser."""
    return f"/api/v1/session/oidc/callback?{urlencode(parameters)}"
