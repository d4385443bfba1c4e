"""Answers are computed once for each tag, and the kept bytes are bounded."""

from __future__ import annotations

import gzip
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from culprit.web.http.answer_cache import AnswerCache
from fastapi import Request, Response


def request_answer(
    cache: AnswerCache, tag: str, content: object, known: str = ""
) -> tuple[Response, list[str]]:
    """Request the answer with a tag; returns it, and the tags that had to be computed."""
    computed: list[str] = []

    def make() -> object:
        computed.append(tag)
        time.sleep(0.01)  # so that requests at the same time overlap
        return content

    request = Request({"type": "http", "headers": [(b"if-none-match", known.encode())]})
    return cache.not_modified_or(request, tag, make), computed


def test_requests_at_the_same_time_compute_an_answer_once() -> None:
    cache = AnswerCache(1000)
    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(lambda _: request_answer(cache, 'W/"a"', {"hosts": [1]}), range(20)))
    assert [tag for _, computed in results for tag in computed] == ['W/"a"']
    assert {answer.body for answer, _ in results} == {b'{"hosts":[1]}'}
    assert {answer.headers["etag"] for answer, _ in results} == {'W/"a"'}


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip, br", True), ("br", False), ("gzip", True), ("", False)]
)
def test_a_large_answer_is_compressed_once_for_all_its_readers(accepted: str, packed: bool) -> None:
    cache, content = AnswerCache(1000), ["host"] * 400  # more bytes than the cache may keep uncompressed
    request_answer(cache, 'W/"a"', content)
    request = Request({"type": "http", "headers": [(b"accept-encoding", accepted.encode())]})
    answer = cache.not_modified_or(request, 'W/"a"', lambda: pytest.fail("it was kept"))
    body = bytes(answer.body)
    assert json.loads(gzip.decompress(body) if packed else body) == content
    assert answer.headers.get("content-encoding") == ("gzip" if packed else None)
    assert (answer.headers["etag"], answer.headers["vary"]) == ('W/"a"', "Accept-Encoding")
    assert int(answer.headers["content-length"]) == len(body)


def test_known_tag_is_answered_without_a_body() -> None:
    answer, computed = request_answer(AnswerCache(1000), 'W/"a"', {}, known='W/"b", W/"a"')
    assert (answer.status_code, answer.body, answer.headers["etag"]) == (304, b"", 'W/"a"')
    assert computed == []


def test_answer_that_was_not_used_for_longest_is_dropped() -> None:
    cache = AnswerCache(25)
    texts = {tag: tag * 8 for tag in "abc"}  # ten bytes each with their quotes
    used = [request_answer(cache, tag, texts[tag])[1] for tag in "abacab"]
    assert used == [["a"], ["b"], [], ["c"], [], ["b"]]


def test_answer_above_the_bound_is_computed_each_time() -> None:
    cache = AnswerCache(9)
    assert [request_answer(cache, "a", "x" * 8)[1] for _ in range(2)] == [["a"], ["a"]]


def test_failure_is_not_kept() -> None:
    cache, request = AnswerCache(1000), Request({"type": "http", "headers": []})
    with pytest.raises(ZeroDivisionError):
        cache.not_modified_or(request, "a", lambda: 1 // 0)
    assert request_answer(cache, "a", 1)[0].body == b"1"
