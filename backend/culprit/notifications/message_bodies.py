"""A message told in a language, in the form of each kind of channel. Names from hosts and alerts stay text."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import Any

from culprit.config import settings
from culprit.core.notices.chart import clean, svg
from culprit.core.notices.message import Message, figure, sparkline
from culprit.core.notices.raster import png
from culprit.kit.clock import now
from culprit.kit.sentences import say

Json = dict[str, Any]
VERSION = 1
COLOURS = {
    "named": "#c92a2a",
    "nothing": "#8a8f98",
    "failed": "#e8590c",
    "mention": "#1c6fb8",
    "test": "#1c6fb8",
}
_LINE = re.compile(r"[\x00-\x1f\x7f]+")


def link(path: str) -> str:
    """An address that people can open."""
    return f"{settings().public_url.rstrip('/')}{path}"


def headline(message: Message, locale: str) -> str:
    """One line: what it is, and where."""
    if message.outcome == "mention":
        params = {"who": message.who, "number": message.incident, "title": message.title}
        return one_line(say("notice.mention", params, locale))
    cause = (message.cause or {}).get(locale, "")
    where = message.host if not message.service else f"{message.service} · {message.host}"
    key = (
        f"notice.{message.outcome}_{message.confidence}"
        if message.confidence
        else f"notice.{message.outcome}"
    )
    return one_line(say(key, {"where": where, "cause": cause}, locale))


def lines(message: Message, locale: str) -> list[str]:
    """What follows: the numbers, what to do, and what it rests on."""
    said = [f"“{message.words}”"] if message.words else []
    for one in message.figures:
        about = f" ({one.about})" if one.about else ""
        said.append(f"• {one.title.get(locale, '')}: {figure(one)}{about}")
    if message.failure:
        said.append(say(str(message.failure["key"]), message.failure.get("params"), locale))
    if message.fix:
        said.append(say("notice.fix", {"fix": message.fix.get(locale, "")}, locale))
    if message.more:
        said.append(say("notice.more", {"count": message.more}, locale))
    if message.peers:
        said.append(say("notice.peers", {"peers": ", ".join(message.peers)}, locale))
    if message.alert:
        params = {"alert": message.alert, "trigger": message.trigger, "count": message.alerts}
        said.append(say("notice.alert", params, locale))
    return [one_line(one) for one in said]


def one_line(text: str) -> str:
    """Without anything that could begin a line or a header of its own."""
    return clean(_LINE.sub(" ", text)).strip()


def links(message: Message) -> list[tuple[str, str]]:
    """(key of its word, address), the incident first."""
    return [(f"notice.to_{name}", link(path)) for name, path in message.paths.items()]


def webhook(notice_id: str, message: Message, locale: str) -> bytes:
    """Everything, for programs: texts in both languages, numbers as numbers, the picture as SVG and as PNG."""
    body: Json = {
        "version": VERSION,
        "id": notice_id,
        "sent_at": now().isoformat(),
        "headline": headline(message, locale),
        **message.as_json(),
        "links": {name: link(path) for name, path in message.paths.items()},
    }
    body.pop("paths")
    if message.chart is not None:
        picture = png(message.chart)
        body["picture"] = {
            "svg": svg(message.chart, locale),
            "png_base64": base64.b64encode(picture).decode(),
        }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def slack(message: Message, locale: str, picture_url: str = "") -> bytes:
    """The form that Slack, Mattermost and Rocket.Chat take. The row of blocks is the picture where none is shown."""
    chart = message.chart
    told = [_slack(one) for one in lines(message, locale)]
    if chart is not None and (row := sparkline(chart.values)):
        told.append(f"`{row}`")
    told += [f"<{address}|{_slack(say(word, None, locale))}>" for word, address in links(message)]
    top = _slack(headline(message, locale))
    attachment: Json = {
        "color": COLOURS[message.outcome],
        "fallback": top,
        "text": "\n".join(told),
        "mrkdwn_in": ["text"],
    }
    if picture_url:
        attachment["image_url"] = picture_url
    return json.dumps({"text": f"*{top}*", "attachments": [attachment]}, ensure_ascii=False).encode()


def _slack(text: str) -> str:
    """Three characters mean something there; escaped, `<!channel>` calls nobody. Emphasis is made harmless."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\N{WORD JOINER}", escaped)


def mail(notice_id: str, message: Message, locale: str, sender: str, to: tuple[str, ...]) -> EmailMessage:
    """Text and HTML with the picture inside; nothing in it is fetched from anywhere."""
    top, told = headline(message, locale), lines(message, locale)
    found = EmailMessage(policy=SMTP.clone(cte_type="7bit"))  # every server takes that
    found["Subject"] = f"[Culprit] {top}"[:200]
    found["From"], found["To"] = sender, ", ".join(to)
    found["Date"] = format_datetime(now())
    found["Message-ID"] = f"<{notice_id}@{sender.rpartition('@')[2]}>"
    found["Auto-Submitted"] = "auto-generated"
    addresses = [(say(word, None, locale), address) for word, address in links(message)]
    plain = [top, "", *told, "", *(f"{word}: {address}" for word, address in addresses)]
    found.set_content("\n".join(plain) + "\n")
    picture = make_msgid(domain="culprit.invalid")
    found.add_alternative(
        _html(top, told, addresses, picture if message.chart else "", locale), subtype="html"
    )
    if message.chart is not None:
        parts = found.get_payload()
        parts[1].add_related(png(message.chart), "image", "png", cid=picture)  # type: ignore[index,union-attr]
    return found


def _html(top: str, told: list[str], addresses: list[tuple[str, str]], picture: str, locale: str) -> str:
    rows = "".join(f"<p style='margin:4px 0'>{html.escape(one)}</p>" for one in told)
    image = f"<p><img src='cid:{picture[1:-1]}' width='640' height='220' alt=''></p>" if picture else ""
    anchors = " · ".join(
        f"<a href='{html.escape(address, quote=True)}'>{html.escape(word)}</a>" for word, address in addresses
    )
    return (
        f"<!doctype html><html lang='{locale}'><body style='font:14px/1.5 sans-serif;color:#1a1b1e'>"
        f"<p style='font-size:16px;font-weight:600'>{html.escape(top)}</p>{rows}{image}<p>{anchors}</p></body></html>"
    )


def told(message: Mapping[str, Any], locale: str) -> Json:
    """For screens: the same words as in the message."""
    one = Message.of(message)
    return {"headline": headline(one, locale), "lines": lines(one, locale)}
