"""The chapters of a report that argue: the chain with its figures, what was ruled out, what was not looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from culprit.core.reports.escaping import html as text
from culprit.core.reports.figures import about, compared, moment
from culprit.core.reports.words import word

Json = Mapping[str, Any]


class Chapters:
    """Writes them as HTML, in the report's language and zone."""

    def __init__(self, content: Json) -> None:
        self.content = content
        self.language = content["language"]
        self.zone = content["zone"]

    def word(self, key: str) -> str:
        """One of the report's own words."""
        return word(key, self.language)

    def time(self, at: object) -> str:
        """A time in the report's zone, or that it is not known."""
        return text(moment(at, self.zone)) or f'<span class="dim">{text(self.word("not_known"))}</span>'

    def links(self, sources: Sequence[str]) -> str:
        """The way to the excerpts of a figure."""
        return "".join(f'<a class="src" href="#{text(one)}">{text(one)}</a>' for one in sources)

    def figure(self, one: Json) -> str:
        """A number, what it is, what it was held against, and where it was read."""
        where = about(one["subject"])
        name = one["measure_title"] + (f" ({where})" if where else "")
        figure = text(compared(one, self.language))
        return f'{text(name)} <span class="num">{figure}</span>{self.links(one["cites"])}'

    def answer(self, one: Json) -> str:
        """What a step shows on one host."""
        figures = "; ".join(self.figure(each) for each in one["numbers"])
        said = [
            f"<b>{text(one['host'])}</b>: {text(self.word('verdict.' + one['verdict']))}, "
            f"{text(self.word('by.' + one['by']))}"
        ]
        if one["who"]:
            said.append(f" ({text(one['who'])})")
        if figures:
            said.append(f": {figures}")
        if one["reason"]:
            said.append(f' <span class="dim">{text(one["reason"])}</span>')
        if one["note"]:
            said.append(f' <q class="prose">{text(one["note"])}</q>')
        pins = "".join(self.links(each["cites"]) for each in one["pins"])
        return f"<p>{''.join(said)}{pins}</p>"

    def step(self, one: Json) -> str:
        """One question and its answers."""
        answers = "".join(self.answer(each) for each in one["answers"] if each["verdict"] != "not_collected")
        verdict = (
            f'<span class="{text(one["verdict"])}">{text(self.word("verdict." + one["verdict"]))}</span>'
        )
        return f"<li>{text(one['asks'])} {verdict}{answers}</li>"

    def steps(self, steps: Sequence[Json]) -> str:
        """Questions as a list; nothing where there are none."""
        if not steps:
            return ""
        return f"<ul>{''.join(self.step(one) for one in steps)}</ul>"

    def chain(self) -> str:
        """The chain as prose with its figures."""
        of = self.content
        if not of["chain"] and not of["gates"]:
            return f"<p>{text(self.word('no_chain'))}</p>"
        parts = [self.steps(of["gates"])]
        unsaid = f'<p class="dim">{text(self.word("nothing_yet"))}</p>'
        for one in of["chain"]:
            tag = f'<span class="tag {text(one["state"])}">{text(self.word("state." + one["state"]))}</span>'
            parts.append(f"<h3>{text(one['says'])} {tag}</h3>{self.steps(one['steps']) or unsaid}")
        return "".join(parts)

    def ruled_out(self) -> str:
        """What was ruled out, and by what."""
        found = self.content["ruled_out"]
        if not found:
            return f"<p>{text(self.word('nothing_ruled_out'))}</p>"
        return "".join(f"<h3>{text(one['says'])}</h3>{self.steps(one['steps'])}" for one in found)

    def not_looked_at(self) -> str:
        """What nothing answers, and what lies outside the playbooks."""
        rows = []
        for one in self.content["not_looked_at"]:
            why = (
                f"{self.word('waived')}: {one['waived']}"
                if one["waived"]
                else one["reason"] or self.word("verdict." + one["verdict"])
            )
            rows.append(
                f'<li><span class="{text(one["verdict"])}">{text(one["asks"])}</span> '
                f'<span class="dim">{text(why)}</span></li>'
            )
        body = f"<ul>{''.join(rows)}</ul>" if rows else f"<p>{text(self.word('everything_answered'))}</p>"
        outside = self.content["not_covered"]
        if outside:
            items = "".join(f"<li>{text(one)}</li>" for one in outside)
            body += f"<h3>{text(self.word('not_covered'))}</h3><ul>{items}</ul>"
        return body
