"""A frozen report as one HTML page: no script runs, nothing is fetched, every text is escaped where it is written.

The page opens from a disk with the network off. It carries the frozen JSON with it, so that whoever has the page can
check its SHA-256.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from culprit.core.reports import pictures
from culprit.core.reports.chapters import Chapters
from culprit.core.reports.escaping import data_block
from culprit.core.reports.escaping import html as text
from culprit.core.reports.figures import about, number, share
from culprit.core.reports.style import STYLE

__all__ = ["STYLE", "html_page"]

Json = Mapping[str, Any]
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
META_CSP = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; base-uri 'none'; form-action 'none'"
)


def html_page(content: Json, digest: str, version: int | None) -> str:
    """The whole page. `version` None: it is a preview, and says so."""
    page = _Page(content)
    language = "zh-CN" if content["language"] == "zh" else "en"
    return "".join(
        [
            f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{text(META_CSP)}">\n',
            '<meta name="robots" content="noindex,nofollow,noarchive">\n<meta name="referrer" content="no-referrer">\n',
            '<meta name="viewport" content="width=device-width,initial-scale=1">\n',
            f"<title>{text(content['title'])}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
            *page.sections(),
            page.end(digest, version),
            f'\n<script type="application/json" id="culprit-report">{data_block(content)}</script>\n</body>\n</html>\n',
        ]
    )


class _Page(Chapters):
    """Writes the sections of one report."""

    def sections(self) -> Iterable[str]:
        """All of them, in the order of reading."""
        of = self.content
        yield self._head()
        if of["impact"]:
            yield self._section("impact", f'<p class="prose">{text(of["impact"])}</p>')
        yield self._section("chain", self.chain())
        yield self._section("fixes", self._fixes())
        yield self._section("ruled_out", self.ruled_out())
        yield self._section("not_looked_at", self.not_looked_at())
        yield self._section("timeline", self._timeline())
        if of["follow_ups"]:
            yield self._section("follow_ups", self._follow_ups())
        for tree in of["trees"]:
            title = " ".join(filter(None, (self.word("flame"), tree["kind"], tree["host"])))
            yield f"<section><h2>{text(title)}</h2>{self._flame(tree, title)}</section>\n"
        yield self._section("sources", self._sources())
        yield self._section("artifacts", self._artifacts())

    def _section(self, key: str, inside: str) -> str:
        return f"<section><h2>{text(self.word(key))}</h2>{inside}</section>\n"

    def _head(self) -> str:
        of, incident = self.content, self.content["incident"]
        facts = [
            ("state", text(self.word(f"state.{incident['state']}"))),
            ("severity", text(incident["severity"])),
            (
                "window",
                f"{self.time(incident['from'])} – {self.time(incident['to'])}",
            ),
            ("detected", self.time(of["detected_at"])),
            ("mitigated", self.time(of["mitigated_at"])),
            ("hosts", ", ".join(self._host(one) for one in of["hosts"]) or text(self.word("none"))),
            ("symptom", self._symptom(incident["symptom"])),
            ("cause", ", ".join(self._cause(one) for one in of["causes"]) or text(self.word("not_known"))),
        ]
        rows = "".join(
            f"<tr><th>{text(self.word(key))}</th><td>{value}</td></tr>" for key, value in facts if value
        )
        summary = f'<p class="lead">{text(of["summary"])}</p>' if of["summary"] else ""
        note = f'<p class="dim">{text(self.word("redacted"))}</p>' if of["replaced"] else ""
        return (
            f'<header><p class="dim">{text(self.word("report"))} #{text(incident["number"])} · '
            f"{text(self.word(of['preset']))}</p><h1>{text(of['title'])}</h1>{summary}<table>{rows}</table>"
            f'{note}<p class="dim">{text(self.word("traced"))}</p></header>\n'
        )

    def _host(self, one: Json) -> str:
        scope = one.get("scope") or {}
        what = about({name: value for name, value in scope.items() if name != "kind" and value})
        return f'<span class="mono">{text(one["host"])}</span> ({text(self.word("role." + one["role"]))}' + (
            f", {text(what)})" if what else ")"
        )

    def _symptom(self, one: Json) -> str:
        levels = "; ".join(
            f"{level['name']} {number(level['before'], level['unit'])} → {number(level['after'], level['unit'])}"
            for level in one["levels"]
        )
        return text("; ".join(filter(None, (one["service"], one["says"], levels))))

    def _cause(self, one: Json) -> str:
        state = one["confidence"]
        return (
            f'{text(one["cause"])} <span class="tag {text(state)}">{text(self.word("state." + state))}</span>'
        )

    def _fixes(self) -> str:
        found = self.content["fixes"]
        if not found:
            return f"<p>{text(self.word('no_fixes'))}</p>"
        return "".join(self._fix(one) for one in found)

    def _fix(self, one: Json) -> str:
        rows = [
            ("applied", self.time(one["at"])),
            ("hosts", text(", ".join(one["hosts"]))),
            ("command", f"<code>{text(one['run'])}</code>" if one["run"] else ""),
            ("risk", text(one["risk"])),
            ("way_back", text(one["way_back"])),
        ]
        table = "".join(
            f"<tr><th>{text(self.word(key))}</th><td>{value}</td></tr>" for key, value in rows if value
        )
        tag = f'<span class="tag {text(one["state"])}">{text(self.word("state." + one["state"]))}</span>'
        judged = "".join(self._verification(each) for each in one["verifications"])
        return f"<h3>{text(one['what'])} {tag}</h3><table>{table}</table>{judged}"

    def _verification(self, one: Json) -> str:
        unit = one["unit"]
        outcome = one["outcome"] or one["state"]
        cited = [each for window in one["windows"] for each in window["cites"]]
        better = f" ({self.word('better.' + one['better'])})" if one["better"] else ""
        between = f" ({share(one['low'])} … {share(one['high'])})" if one["low"] is not None else ""
        load = one["load"]
        head = (
            f"<p><b>{text(one['measure_title'])}</b>{text(better)}: "
            f'<span class="num">{text(number(one["before"], unit))} → {text(number(one["after"], unit))}</span>, '
            f'{text(self.word("change"))} <span class="num">{text(share(one["change"]))}{text(between)}</span>, '
            f'{text(self.word("load"))} <span class="num">{text(number(load["before"], "per_s"))} → '
            f"{text(number(load['after'], 'per_s'))}</span>: "
            f'<span class="{text(outcome)}">{text(self.word("state." + outcome))}</span>'
            f"{self.links(list(dict.fromkeys(cited)))}</p>"
        )
        why = "".join(f'<p class="dim">{text(each)}</p>' for each in one["reasons"] if each)
        return head + why + pictures.chart(one["windows"], unit, one["measure_title"])

    def _timeline(self) -> str:
        rows = "".join(
            f'<tr><td class="mono">{self.time(one["at"])}</td><td>{text(one["text"])}'
            + (f' <q class="prose">{text(one["note"])}</q>' if one["note"] else "")
            + f'</td><td class="dim">{text(one["by"])}</td></tr>'
            for one in self.content["timeline"]
        )
        return f"<table>{rows}</table>"

    def _follow_ups(self) -> str:
        rows = []
        for one in self.content["follow_ups"]:
            who = ", ".join(filter(None, (one["who"], (one["due"] or "")[:10])))
            mark = "☑" if one["done"] else "☐"
            rows.append(
                f"<li>{mark} {text(one['what'])}"
                + (f' <span class="dim">{text(who)}</span>' if who else "")
                + "</li>"
            )
        return f"<ul>{''.join(rows)}</ul>"

    def _flame(self, tree: Json, title: str) -> str:
        lost = f", {self.word('lost')} {number(tree['lost'])}" if tree["lost"] is not None else ""
        line = f"{number(tree['samples'])} {self.word('samples')}{lost}, {self.word('unit')} {tree['unit']}"
        pinned = f"; {self.word('search')}: {', '.join(tree['frames'])}" if tree["frames"] else ""
        return f'<p class="dim">{text(line + pinned)}</p>{pictures.flame(tree, title)}'

    def _sources(self) -> str:
        return (
            "".join(self._source(one) for one in self.content["sources"])
            or f"<p>{text(self.word('none'))}</p>"
        )

    def _source(self, one: Json) -> str:
        name = " ".join(filter(None, (one["host"], one["collector"], one["part"], one.get("frame", ""))))
        digest = f' <code class="dim">sha256 {text(one["sha256"])}</code>' if one["sha256"] else ""
        if not one["lines"]:
            body = f'<p class="nodata {text(one["state"])}">{text(self.word("no_excerpt"))} ({text(one["state"])})</p>'
        else:
            body = f"<pre>{''.join(_line(each) for each in one['lines'])}</pre>"
        return f'<div class="source" id="{text(one["id"])}"><b>{text(one["id"])}</b> {text(name)}{digest}{body}</div>'

    def _artifacts(self) -> str:
        heads = "".join(f"<th>{text(self.word(key))}</th>" for key in ("host", "collector", "part", "size"))
        rows = "".join(
            f"<tr><td>{text(one['host'])}</td><td>{text(one['collector'])}</td><td>{text(one['part'])}</td>"
            f'<td class="num">{text(number(one["size"], "bytes"))}</td><td><code>{text(one["sha256"])}</code></td></tr>'
            for one in self.content["artifacts"]
        )
        return f"<table><tr>{heads}<th>SHA-256</th></tr>{rows}</table>"

    def end(self, digest: str, version: int | None) -> str:
        """What it is, when it was frozen, and its hash."""
        of = self.content
        name = f"{self.word('version')} {version}" if version is not None else "PREVIEW"
        when = f"{text(self.word('frozen'))} {self.time(of['at'])}"
        return (
            f"<footer><p>{text(name)} · {when} · Culprit {text(of['culprit'])}"
            f"<br><code>sha256 {text(digest)}</code></p></footer>"
        )


def _line(one: Json) -> str:
    """A line of an excerpt with its number; the cited ones are marked. The frames of a stack stand in one line."""
    number_ = f"<i>{one['n']:>7} </i>" if one["n"] is not None else ""
    body = text(line_text(one))
    return f"{number_}{f'<b>{body}</b>' if one['cited'] else body}\n"


def line_text(one: Json) -> str:
    """The text of a line; what was cut off is said to be."""
    frames = ";".join(one.get("frames", ()))
    return " ".join(filter(None, (frames, one["text"]))) + (" …" if one["cut"] else "")
