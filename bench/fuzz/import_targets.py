"""Targets for what other systems and people send: reports, metrics, alerts, inventories, calendars, playbooks."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from culprit.accounts.single_sign_on.discovery import parse_discovery, parse_keys
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.analysis.playbooks.library import CATALOG, check_text
from culprit.domain.alerts.contract import Kind
from culprit.domain.alerts.formats import parse_request
from culprit.domain.imports.file_kinds import NAMES, PARSERS, PART, PROM_SERVICE
from culprit.domain.profiles import debug_files
from culprit.domain.series.typical_range import METRICS, PROM_TYPICAL
from culprit.hosts.inventory import ansible, csv_list, known_hosts, ssh_config
from culprit.hosts.inventory.candidate import Candidate
from culprit.hosts.service import parse_public_key
from culprit.incidents.transfer.bundle.document import DOCUMENT, FORMAT, FORMAT_VERSION, MANIFEST
from culprit.incidents.transfer.imports.read_in_sandbox import read_bundle
from culprit.notifications.oncall import confined_calendar, pagerduty
from culprit.notifications.oncall.external_shift import UnreadableCalendarError
from culprit.web.errors import CulpritError, InvalidRequestError

from bench.fuzz.parts_text import decode_parts, encode_parts
from bench.fuzz.profile_targets import shorten_json
from bench.fuzz.seed_texts import (
    ALERTS,
    CALENDARS,
    DISCOVERY,
    DOCUMENT_SEED,
    INVENTORIES,
    KEY_LINE,
    KEY_SET,
    PAGERDUTY,
    REPORTS_OF_OTHERS,
)
from bench.fuzz.target import MAX_BYTES, SEED_BYTES, FuzzTarget, check_texts
from collectors.contract import Context
from collectors.parse.reports.registry import REPORTS, Report
from collectors.profiles.limits import ImportRefusedError
from collectors.runner import lookback, symbols
from collectors.tests.contract_checks import check_parsed
from collectors.tests.fixture_files import FIXTURES
from collectors.tests.support import SIMPLE, BytesPart

_REPORTS = FIXTURES / "reports"
_WINDOW = {"start": "2026-11-01T00:00:00+00:00", "end": "2026-12-01T00:00:00+00:00", "zone": "Europe/Berlin"}
_QUERY = {
    "start_s": 1_767_225_600, "end_s": 1_767_226_200, "latency_unit": "s",
    "routes": {metric: ["/"] for metric in METRICS},
}  # fmt: skip


def list_import_targets() -> list[FuzzTarget]:
    """Return a target for each importer and for each document of another system."""
    refused = (InvalidRequestError,)
    inventories: dict[str, Callable[[str], list[Candidate]]] = {
        "ansible": ansible.parse_hosts,
        "csv": csv_list.parse_hosts,
        "known_hosts": known_hosts.parse_hosts,
        "ssh_config": ssh_config.parse_hosts,
    }
    return [
        *(FuzzTarget(f"report.{name}", _build_report(name), _build_report_seeds(name)) for name in REPORTS),
        FuzzTarget("metrics.service", _build_parts(PROM_SERVICE), _load_prometheus),
        FuzzTarget("metrics.typical", _build_parts(PROM_TYPICAL), _load_prometheus),
        FuzzTarget("host.lookback", _build_parts(lookback.ID), _load_samples),
        FuzzTarget("host.symbols", _build_parts(symbols.ID), _load_index),
        FuzzTarget("file.debug_files", _build_parts(debug_files.ID), _load_index),
        *(FuzzTarget(f"alert.{kind}", _build_alert(kind), lambda: list(ALERTS)) for kind in get_args(Kind)),
        *(
            FuzzTarget(f"inventory.{name}", _build_text(parse), lambda: list(INVENTORIES), refused)
            for name, parse in inventories.items()
        ),
        FuzzTarget(
            "inventory.host_key",
            _build_text(parse_public_key),
            lambda: [KEY_LINE],
            (CulpritError, ValueError),
        ),
        FuzzTarget("oncall.calendar", _read_calendar, lambda: list(CALENDARS), (Exception,)),
        FuzzTarget("oncall.pagerduty", _read_page, lambda: [PAGERDUTY], (UnreadableCalendarError,)),
        FuzzTarget("sign_in.discovery", _read_discovery, lambda: [DISCOVERY], (SignInError,)),
        FuzzTarget("sign_in.keys", parse_keys, lambda: [KEY_SET], (SignInError,)),
        FuzzTarget("playbook", _build_text(check_text), _load_playbooks),
        FuzzTarget("incident.archive", _read_archive, _load_archives, (ImportRefusedError,)),
        FuzzTarget("incident.document", _read_document, lambda: [DOCUMENT_SEED], (ImportRefusedError,)),
    ]


def _build_report(kind: Report) -> Callable[[bytes], object]:
    parse = PARSERS[NAMES[kind]]

    def parse_report(data: bytes) -> object:
        parsed = parse({PART: BytesPart(data)}, Context(SIMPLE, "import", 30.0))
        check_parsed(None, parsed, {PART})
        return parsed

    return parse_report


def _build_report_seeds(kind: Report) -> Callable[[], list[bytes]]:
    def load_seeds() -> list[bytes]:
        files = sorted(_REPORTS.glob(f"{kind}*"))
        texts = [
            shorten_json(file.read_bytes()) if file.suffix == ".json" else file.read_bytes() for file in files
        ]
        return [text[:MAX_BYTES] for text in (*texts, *REPORTS_OF_OTHERS.get(kind, ()))]

    return load_seeds


def _build_parts(name: str) -> Callable[[bytes], object]:
    def parse_parts(data: bytes) -> object:
        method, texts = decode_parts(data)
        parts = {part: BytesPart(text) for part, text in texts.items()}
        parsed = PARSERS[name](parts, Context(SIMPLE, method, 30.0))
        check_parsed(None, parsed, parts.keys() | {"clock"})
        return parsed

    return parse_parts


def _load_prometheus() -> list[bytes]:
    """Return the answers of a Prometheus, each in one line, as the parts that the server fetches."""
    answers = {
        name: shorten_json((_REPORTS / f"prometheus_{name}.json").read_bytes(), SEED_BYTES // 8).replace(
            b"\n", b""
        )
        + b"\n"
        for name in ("rate", "errors", "p50", "p99")
    }
    parts = {"query.json": json.dumps(_QUERY).encode()}
    parts |= {f"{name}.json": text for name, text in answers.items()}
    parts |= {f"{name}.jsonl": text for name, text in answers.items()}
    return [encode_parts("prometheus", parts, SEED_BYTES)]


def _load_samples() -> list[bytes]:
    files = sorted(FIXTURES.glob("*/meminfo/*/samples")) + sorted(FIXTURES.glob("*/cpu_stat/*/samples"))
    return [encode_parts("lookback", {"samples": file.read_bytes()}, SEED_BYTES) for file in files]


def _load_index() -> list[bytes]:
    key, build_id = "ab" * 10, "cd" * 20
    index = f"file {key} {build_id}\nblocks {key} 0 1\nfailed {key} changed\nmap 1234\n".encode()
    published = f"answer {key} {build_id} found https://debug.example\nblocks {key} 0 1\n".encode()
    return [encode_parts("", {symbols.INDEX: index, debug_files.PUBLISHED: published}, SEED_BYTES)]


def _build_alert(kind: Kind) -> Callable[[bytes], object]:
    return lambda data: check_texts(parse_request(kind, data))


def _build_text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: check_texts(parse(data.decode("utf-8", "replace")))


def _read_page(data: bytes) -> object:
    return check_texts(pagerduty.parse_page(data))


def _read_calendar(data: bytes) -> object:
    """Parse a calendar. Its library may raise anything, which ends the sandbox: only time and memory count."""
    return check_texts(confined_calendar.parse_shifts(data, _WINDOW))


def _read_discovery(data: bytes) -> object:
    return parse_discovery(data, "https://id.example")


def _load_playbooks() -> list[bytes]:
    return [path.read_bytes()[:SEED_BYTES] for path in sorted(CATALOG.glob("*.yaml"))[:6]]


def _read_archive(data: bytes) -> object:
    with tempfile.TemporaryDirectory(prefix="culprit-fuzz-") as directory:
        path = Path(directory, "bundle.zip")
        path.write_bytes(data)
        return read_bundle(path, Path(directory))


def _load_archives() -> list[bytes]:
    return [_pack_document(DOCUMENT_SEED), _pack_document(b"{}")]


def _read_document(data: bytes) -> object:
    """Read a bundle whose archive and manifest are right, so that only its document is to be refused."""
    return _read_archive(_pack_document(data))


def _pack_document(data: bytes) -> bytes:
    member = {"name": DOCUMENT, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, "culprit": "0.1.0", "members": [member]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        archive.writestr(DOCUMENT, data)
    return buffer.getvalue()
