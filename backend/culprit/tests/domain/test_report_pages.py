"""Pages of reports: whole without a network, and nothing in a text becomes more than text."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from culprit.domain.reports.escaping import data_block, escape_markdown, render_code_block
from culprit.domain.reports.figures import format_comparison, format_number, format_share, format_time
from culprit.domain.reports.render import render_html_page, render_markdown_page
from culprit.domain.reports.words import LABELS, get_label
from culprit.tests.support.reports import SHA, content

PAYLOADS = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><a href='javascript:alert(1)'>x</a>",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "</style><style>*{background:url(//evil)}</style>",
    "</title><base href=//evil>",
    "</svg><iframe src=//evil></iframe>",
    "&lt;b&gt; \x00\x1b[31m \u202eevil\u202c \ud800",
    "{{constructor.constructor('alert(1)')()}}",
]
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "section", "footer", "h1", "h2", "h3", "p", "table", "tr",
    "td", "th", "ul", "li", "span", "a", "b", "i", "q", "code", "pre", "div", "script", "svg", "rect", "text", "g",
    "polyline", "line", "br",
}  # fmt: skip


class Reader(HTMLParser):
    """What a browser would make of a page: elements, attributes, text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_stays_text(payload):
    plain = read(render_html_page(content("x"), SHA, 1))
    hostile = read(render_html_page(content(payload), SHA, 1))
    assert hostile.tags == plain.tags and set(hostile.tags) <= ALLOWED
    assert hostile.tags.count("script") == 1
    assert not [
        attribute
        for attribute in hostile.attributes
        if attribute[1].startswith("on") or attribute[1] in {"src", "srcdoc", "action"}
    ]
    links = {value for _, name, value in hostile.attributes if name == "href"}
    assert links and all(re.fullmatch(r"#S\d+", link) for link in links)
    assert "\x1b" not in render_html_page(content(payload), SHA, 1) and "\u202e" not in render_html_page(
        content(payload), SHA, 1
    )


def test_tabs_and_lines_are_white_space_and_what_turns_text_is_replaced():
    text = "pid\tcomm\r\n41\tweb\u061cx\ufeff\u202e"
    page = read(render_html_page(content(text), SHA, 1)).text
    assert "pid     comm\n41      web\ufffdx\ufffd\ufffd" in page
    assert "\t" not in page


def test_the_page_needs_nothing_but_itself():
    page = unescape(render_html_page(content("plain"), SHA, 3))
    addresses = set(re.findall(r"""(?:https?:)?//[^\s"'<>]+""", page)) - {"http://www.w3.org/2000/svg"}
    assert addresses == set()
    assert "default-src 'none'" in page and "noindex" in page and "url(" not in page and "@import" not in page
    assert 'style="' not in page


def test_the_page_carries_what_was_frozen():
    frozen = content("</script><b>")
    [block] = re.findall(
        r'<script type="application/json" id="culprit-report">(.*?)</script>',
        render_html_page(frozen, SHA, 1),
    )
    assert json.loads(block) == frozen


def test_every_figure_ends_in_an_excerpt():
    reader = read(render_html_page(content("x"), SHA, 1))
    anchors = {value for _, name, value in reader.attributes if name == "id"}
    links = {value[1:] for _, name, value in reader.attributes if name == "href"}
    assert links <= anchors
    assert "97.2 % > 80 %" in reader.text and "baseline 12 %" in reader.text and "n = 300" in reader.text


def test_chinese_and_the_zone():
    page = render_html_page(content("x", language="zh"), SHA, 1)
    assert 'lang="zh-CN"' in page and "证据链" in page and "Noto Sans CJK SC" in page
    assert "2026-01-01 01:00:00 CET" in page


def test_html_page_marks_preview():
    assert "PREVIEW" in render_html_page(content(), SHA, None) and "PREVIEW" not in render_html_page(
        content(), SHA, 1
    )


@pytest.mark.parametrize(
    "payload", [*PAYLOADS, "[x](javascript:alert(1))", "```\n# h", "| a | b |", "- x\n# y", "=1+1"]
)
def test_markdown_is_text_too(payload):
    whole = render_markdown_page(content(payload), SHA, 1)
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", whole)
    assert (
        re.search(r"(?<!\\)<|(?<!\\)\]\(|(?<![\\`])`(?![0-9a-f`])", outside.replace(f"`{SHA}`", "")) is None
    )
    headings = [line for line in outside.splitlines() if line.startswith("#")]
    assert len(headings) == len([
        line
        for line in re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", render_markdown_page(content("x"), SHA, 1)).splitlines()
        if line.startswith("#")
    ])  # fmt: skip


def test_a_fence_is_longer_than_what_it_holds():
    assert render_code_block(["````", "x"]).splitlines()[0] == "`````text"
    assert escape_markdown("a\nb") == "a b"
    assert (
        escape_markdown("97.2 %") == "97.2 %"
        and escape_markdown("1. x") == r"1\. x"
        and escape_markdown("12)") == r"12\)"
    )
    assert "      7 x …\n" in render_markdown_page(content("x"), SHA, 1), (
        "a number and its line, without control characters"
    )
    assert "</" not in data_block({"a": "</script>"})


def test_a_threshold_that_was_not_reached_is_no_comparison():
    not_matched = {"value": 0.0, "unit": "pct", "op": ">", "threshold": 75.0, "n": 9}
    assert format_comparison(not_matched, "en") == "0 % (threshold > 75 %, n = 9)"
    assert format_comparison({**not_matched, "value": 76.0}, "en") == "76 % > 75 % (n = 9)"
    assert format_comparison({**not_matched, "op": "<=", "n": 0}, "en") == "0 % <= 75 %"
    assert format_comparison({**not_matched, "value": None, "n": 0}, "zh") == "– > 75 %"


def test_format_comparison_without_threshold_shows_number_only() -> None:
    limit = {"value": 256.0, "unit": "mb", "op": None, "threshold": None, "baseline": None, "n": 0}
    assert format_comparison(limit, "en") == "256 MiB"
    assert (
        format_comparison({**limit, "baseline": 512.0, "n": 3}, "en") == "256 MiB (baseline 512 MiB, n = 3)"
    )


def test_pages_mark_hypothesis_without_answered_steps():
    open_item = content(chain=[{**content()["chain"][0], "steps": []}], gates=[], fixes=[])
    assert "No answered step supports or refutes it." in render_html_page(open_item, SHA, 1)
    reported = render_markdown_page(open_item, SHA, 1)
    assert "No answered step supports or refutes it." in reported and "No fixes were recorded." in reported
    assert "(x)" in reported, "who does what is still to be done"


def test_numbers_and_times():
    assert (
        format_number(44.123, "ms") == "44.1 ms"
        and format_number(12911, "count") == "12,911"
        and format_number(0.5, "pct") == "0.5 %"
    )
    assert format_number(None) == format_number(float("nan")) == format_number(True) == "–"
    assert format_share(-0.5) == "-50.0 %" and format_share(None) == "–"
    assert format_time("2026-07-01T00:00:00+00:00", "Asia/Shanghai") == "2026-07-01 08:00:00 CST"
    assert format_time(None, "UTC") == ""


def test_words_are_there_in_both_languages():
    assert all(word.en and word.zh for word in LABELS.values())
    assert get_label("no such word", "zh") == "no such word"


@pytest.mark.parametrize("render", [render_html_page, render_markdown_page])
def test_report_begins_with_cause_impact_fix_and_proof(render):
    fixed, planned, empty = (
        page[page.index("Answer") : page.index("Evidence chain")]
        for page in (
            render(item, SHA, 1)
            for item in (content(), content(fixes=[]), content(fixes=[], causes=[], impact=""))
        )
    )
    positions = [
        fixed.index(text) for text in ("Cause", "busy", "Impact", "Fix", "Proof", "97.2 %", "Severity")
    ]
    assert positions == sorted(positions)
    assert "Use less." in planned and "Suggested fix" in planned
    assert "Use less." not in fixed
    assert "No cause was confirmed." in empty
    frozen_before = render(content(causes=[{"cause": "busy", "confidence": "likely"}]), SHA, 1)
    assert "busy" in frozen_before[frozen_before.index("Answer") : frozen_before.index("Evidence chain")]


def test_report_without_impact_shows_symptom():
    symptom = {
        "service": "feed",
        "description": "",
        "levels": [{"name": "p99", "before": 520, "after": 2300, "unit": "ms"}],
    }
    incident = {**content()["incident"], "symptom": symptom}
    page = read(render_html_page(content(impact="", incident=incident), SHA, 1)).text
    assert "feed; p99 520 ms → 2,300 ms" in page[page.index("Impact") : page.index("Proof")]
