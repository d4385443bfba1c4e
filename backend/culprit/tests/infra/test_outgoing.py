"""HTTP client: restricted to allowed servers, and bounded for every answer."""

from __future__ import annotations

import socket
import time

import pytest
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import (
    OutgoingError,
    Request,
    download_file,
    parse_base_url,
    send_request,
)
from culprit.tests.support.web import reply, web

LOOPBACK = (AddressRule("127.0.0.0/8", 1, 65535),)


def ask(url: str, rules=LOOPBACK, **more):
    return send_request(Request(parse_base_url(url), "/x", {"Authorization": "Bearer s3cret"}), rules, **more)


def kind_of(url: str, rules=LOOPBACK, **more) -> str:
    with pytest.raises(OutgoingError) as caught:
        ask(url, rules, **more)
    assert "s3cret" not in str(caught.value) + repr(caught.value) + str(caught.value.sentence)
    return caught.value.kind


def test_an_answer_comes_back_whole() -> None:
    with web(reply(200, b"x" * 300_000)) as server:
        answer = ask(server.url + "/prefix/")
        assert (answer.status, len(answer.body)) == (200, 300_000)
        assert server.requests == [("/x", "Bearer s3cret")]
    assert "s3cret" not in repr(Request(parse_base_url(server.url), "/x", {"Authorization": "s3cret"}))


@pytest.mark.parametrize(
    "url",
    ["ftp://h/", "http://", "http://u:p@h/", "http://h/?q=1", "http://h/#f", "http://h:0/", "http://h:99999/",
     "http://h/a b", "http://h\\@other/", "http://h\r\nX: y/", "http://hé/"],
)  # fmt: skip
def test_strange_urls_are_refused(url: str) -> None:
    with pytest.raises(OutgoingError) as caught:
        parse_base_url(url)
    assert caught.value.kind == "url"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "[::ffff:169.254.169.254]", "[::1]", "localhost", "0.0.0.0"]
)
def test_a_wide_rule_opens_neither_loopback_nor_metadata(host: str) -> None:
    assert (
        kind_of(f"http://{host}:80", (AddressRule("0.0.0.0/0", 1, 65535), AddressRule("::/0", 1, 65535)))
        == "not_allowed"
    )


def test_a_port_that_no_rule_names() -> None:
    assert kind_of("http://127.0.0.1:9090", (AddressRule("127.0.0.0/8", 22, 22),)) == "not_allowed"


def test_redirects_are_not_followed() -> None:
    with web(reply(302, b"", Location="http://169.254.169.254/")) as server:
        assert kind_of(server.url) == "redirect"


def test_more_than_the_limit() -> None:
    with web(reply(200, b"x" * 5000)) as server:
        assert kind_of(server.url, limit=4000) == "too_large"


def test_an_answer_that_ends_before_its_length_is_refused() -> None:
    def cut(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "5000")
        handler.end_headers()
        handler.wfile.write(b"x" * 4000)

    with web(cut) as server:
        assert kind_of(server.url) == "garbled"


def test_only_the_content_of_a_file_is_passed_on() -> None:
    def download(url: str, limit: int = 1 << 20) -> tuple[int, int]:
        pieces: list[bytes] = []
        request = Request(parse_base_url(url), "/x")
        status = download_file(request, LOOPBACK, pieces.append, total_s=5, limit=limit)
        return status, sum(map(len, pieces))

    with web(reply(200, b"x" * 300_000)) as server:
        assert download(server.url) == (200, 300_000)
        with pytest.raises(OutgoingError) as caught:
            download(server.url, limit=299_999)
        assert caught.value.kind == "too_large"
    with web(reply(404, b"x" * 300_000)) as server:
        assert download(server.url) == (404, 0)


def test_a_server_that_drips_is_cut_in_time() -> None:
    def drip(handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    started = time.monotonic()
    with web(drip) as server:
        assert kind_of(server.url, total_s=0.4) == "timeout"
    assert time.monotonic() - started < 3


def test_request_reports_refused_connection_and_invalid_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert kind_of(f"http://127.0.0.1:{port}", total_s=0.3) == "timeout"
        assert kind_of(f"https://127.0.0.1:{port}", total_s=0.3) == "timeout"
    assert kind_of(f"http://127.0.0.1:{port}") == "unreachable"
    with web(lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n\r\n")) as server:
        assert kind_of(server.url) == "garbled"
        assert kind_of(server.url.replace("http:", "https:")) == "tls"


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with web(reply(200, b"{}")) as server:
        assert ask(server.url).body == b"{}"
