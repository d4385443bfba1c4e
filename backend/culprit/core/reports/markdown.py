"""A frozen report as Markdown: the same sections as the page, every text of others escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from culprit.core.reports.escaping import fenced
from culprit.core.reports.escaping import markdown as text
from culprit.core.reports.figures import about, compared, moment, number, share
from culprit.core.reports.html import line_text
from culprit.core.reports.words import word

Json = Mapping[str, Any]


def markdown_text(content: Json, digest: str, version: int | None) -> str:
    """The whole report, one paragraph or list item a line."""
    return "\n".join(_Text(content).lines(digest, version)) + "\n"


class _Text:
    def __init__(self, content: Json) -> None:
        self.content = content
        self.language = content["language"]

    def word(self, key: str) -> str:
        return word(key, self.language)

    def time(self, at: object) -> str:
        return moment(at, self.content["zone"]) or self.word("not_known")

    def lines(self, digest: str, version: int | None) -> Iterator[str]:
        of, incident = self.content, self.content["incident"]
        yield f"# {text(of['title'])}"
        yield ""
        yield from self._prose(of["summary"])
        for key, value in (
            ("report", f"#{incident['number']}"),
            ("state", self.word(f"state.{incident['state']}")),
            ("severity", incident["severity"]),
            ("window", f"{self.time(incident['from'])} – {self.time(incident['to'])}"),
            ("detected", self.time(of["detected_at"])),
            ("mitigated", self.time(of["mitigated_at"])),
            ("hosts", ", ".join(one["host"] for one in of["hosts"])),
            ("cause", ", ".join(one["cause"] for one in of["causes"]) or self.word("not_known")),
        ):
            yield f"- {text(self.word(key))}: {text(value)}"
        yield ""
        if of["impact"]:
            yield from self._head("impact")
            yield from self._prose(of["impact"])
        yield from self._head("chain")
        if of["gates"]:
            yield from self._steps(of["gates"])
        for one in of["chain"]:
            yield f"### {text(one['says'])} ({text(self.word('state.' + one['state']))})"
            yield ""
            if one["steps"]:
                yield from self._steps(one["steps"])
            else:
                yield from self._prose(self.word("nothing_yet"))
        yield from self._head("fixes")
        if not of["fixes"]:
            yield from self._prose(self.word("no_fixes"))
        for one in of["fixes"]:
            yield from self._fix(one)
        yield from self._head("ruled_out")
        for one in of["ruled_out"]:
            yield f"### {text(one['says'])}"
            yield ""
            yield from self._steps(one["steps"])
        yield from self._rest()
        name = f"{self.word('version')} {version}" if version is not None else "PREVIEW"
        yield f"{text(name)}, {text(self.time(of['at']))}, sha256 `{digest}`"

    def _head(self, key: str) -> Iterator[str]:
        yield f"## {text(self.word(key))}"
        yield ""

    def _prose(self, words: str) -> Iterator[str]:
        for line in words.splitlines():
            yield text(line)
            yield ""

    def _steps(self, steps: Sequence[Json]) -> Iterator[str]:
        for one in steps:
            yield f"- {text(one['asks'])} **{text(self.word('verdict.' + one['verdict']))}**"
            for answer in one["answers"]:
                if answer["verdict"] == "not_collected":
                    continue
                figures = "; ".join(self._figure(each) for each in answer["numbers"])
                pins = " ".join(text(source) for each in answer["pins"] for source in each["cites"])
                told = (figures, text(answer["reason"]), text(answer["note"]), pins)
                yield f"  - {text(answer['host'])}: {'; '.join(filter(None, told)) or text(answer['verdict'])}"
        yield ""

    def _figure(self, one: Json) -> str:
        where = about(one["subject"])
        name = one["measure_title"] + (f" ({where})" if where else "")
        return f"{text(name)} {text(compared(one, self.language))} {text(' '.join(one['cites']))}".strip()

    def _fix(self, one: Json) -> Iterator[str]:
        yield f"### {text(one['what'])} ({text(self.word('state.' + one['state']))})"
        yield ""
        for key, value in (
            ("applied", self.time(one["at"])),
            ("command", one["run"]),
            ("risk", one["risk"]),
            ("way_back", one["way_back"]),
        ):
            if value:
                yield f"- {text(self.word(key))}: {text(value)}"
        for each in one["verifications"]:
            outcome = self.word(f"state.{each['outcome'] or each['state']}")
            figure = f"{number(each['before'], each['unit'])} → {number(each['after'], each['unit'])}"
            yield f"- {text(each['measure_title'])}: {text(figure)} ({text(share(each['change']))}), {text(outcome)}"
        yield ""

    def _rest(self) -> Iterator[str]:
        of = self.content
        yield from self._head("not_looked_at")
        for one in of["not_looked_at"]:
            why = one["waived"] or one["reason"] or self.word("verdict." + one["verdict"])
            yield f"- {text(one['asks'])}: {text(why)}"
        for each in of["not_covered"]:
            yield f"- {text(self.word('not_covered'))}: {text(each)}"
        yield ""
        yield from self._head("timeline")
        for one in of["timeline"]:
            note = f" ({text(one['note'])})" if one["note"] else ""
            yield f"- {text(self.time(one['at']))} {text(one['text'])}{note}"
        yield ""
        if of["follow_ups"]:
            yield from self._head("follow_ups")
            for one in of["follow_ups"]:
                who = f" ({text(one['who'])})" if one["who"] else ""
                yield f"- [{'x' if one['done'] else ' '}] {text(one['what'])}{who}"
            yield ""
        yield from self._head("sources")
        for one in of["sources"]:
            name = " ".join(filter(None, (one["host"], one["collector"], one["part"])))
            yield f"**{text(one['id'])}** {text(name)} {text(one['sha256'] or one['state'])}"
            yield ""
            if one["lines"]:
                yield fenced([f"{each['n'] or ''}\t{line_text(each)}" for each in one["lines"]])
                yield ""
        yield from self._head("artifacts")
        for one in of["artifacts"]:
            name = " ".join(filter(None, (one["host"], one["collector"], one["part"])))
            yield f"- {text(name)} `{one['sha256']}`"
        yield ""
