"""Render a message in a language for each kind of channel. Names from hosts and alerts are escaped."""

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

from culprit.domain.messages import render_message
from culprit.domain.notifications.chart import clean_xml, render_svg
from culprit.domain.notifications.message import NotificationContent, format_figure, render_sparkline
from culprit.domain.notifications.raster import render_png
from culprit.infra.db.clock import utc_now
from culprit.infra.settings import get_settings
from culprit.json_types import Json

VERSION = 1
COLORS = {
    "named": "#c92a2a",
    "nothing": "#8a8f98",
    "failed": "#e8590c",
    "mention": "#1c6fb8",
    "test": "#1c6fb8",
}
_LINE = re.compile(r"[\x00-\x1f\x7f]+")


def build_link(path: str) -> str:
    """Return an absolute address."""
    return f"{get_settings().public_url.rstrip('/')}{path}"


def render_headline(message: NotificationContent, locale: str) -> str:
    """Return the subject: the result and the host."""
    if message.outcome == "mention":
        params = {"who": message.who, "number": message.incident, "title": message.title}
        return to_single_line(render_message("notification.mention", params, locale))
    cause = (message.cause or {}).get(locale, "")
    where = message.host if not message.service else f"{message.service} · {message.host}"
    key = (
        f"notification.{message.outcome}_{message.confidence}"
        if message.confidence
        else f"notification.{message.outcome}"
    )
    return to_single_line(render_message(key, {"where": where, "cause": cause}, locale))


def render_lines(message: NotificationContent, locale: str) -> list[str]:
    """Return the lines of the text: numbers, fix, and confidence."""
    text = [f"“{message.words}”"] if message.words else []
    for figure in message.figures:
        about = f" ({figure.about})" if figure.about else ""
        text.append(f"• {figure.title.get(locale, '')}: {format_figure(figure)}{about}")
    if message.failure:
        text.append(render_message(str(message.failure["key"]), message.failure.get("params"), locale))
    if message.fix:
        text.append(render_message("notification.fix", {"fix": message.fix.get(locale, "")}, locale))
    if message.more:
        text.append(render_message("notification.more", {"count": message.more}, locale))
    if message.peers:
        text.append(render_message("notification.peers", {"peers": ", ".join(message.peers)}, locale))
    if message.alert:
        params = {"alert": message.alert, "trigger": message.trigger, "count": message.alerts}
        text.append(render_message("notification.alert", params, locale))
    return [to_single_line(item) for item in text]


def to_single_line(text: str) -> str:
    """Remove characters that could start a new line or header."""
    return clean_xml(_LINE.sub(" ", text)).strip()


def list_links(message: NotificationContent) -> list[tuple[str, str]]:
    """Return (message key, address), the incident first."""
    return [(f"notification.to_{name}", build_link(path)) for name, path in message.paths.items()]


def build_webhook(notification_id: str, message: NotificationContent, locale: str) -> bytes:
    """Return the complete message for programs: both languages, plain numbers, the chart as SVG and PNG."""
    body: Json = {
        "version": VERSION,
        "id": notification_id,
        "sent_at": utc_now().isoformat(),
        "headline": render_headline(message, locale),
        **message.as_json(),
        "links": {name: build_link(path) for name, path in message.paths.items()},
    }
    body.pop("paths")
    if message.chart is not None:
        image = render_png(message.chart)
        body["chart"] = {
            "svg": render_svg(message.chart, locale),
            "png_base64": base64.b64encode(image).decode(),
        }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def build_slack(message: NotificationContent, locale: str, image_url: str = "") -> bytes:
    """Return the form for Slack, Mattermost and Rocket.Chat, with a sparkline if no image is shown."""
    chart = message.chart
    lines = [_escape_slack(line) for line in render_lines(message, locale)]
    if chart is not None and (row := render_sparkline(chart.values)):
        lines.append(f"`{row}`")
    lines += [
        f"<{address}|{_escape_slack(render_message(word, None, locale))}>"
        for word, address in list_links(message)
    ]
    top = _escape_slack(render_headline(message, locale))
    attachment: Json = {
        "color": COLORS[message.outcome],
        "fallback": top,
        "text": "\n".join(lines),
        "mrkdwn_in": ["text"],
    }
    if image_url:
        attachment["image_url"] = image_url
    return json.dumps({"text": f"*{top}*", "attachments": [attachment]}, ensure_ascii=False).encode()


def _escape_slack(text: str) -> str:
    """Escape Slack's three special characters, so that `<!channel>` has no effect, and neutralize emphasis."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\N{WORD JOINER}", escaped)


def build_mail(
    notification_id: str, message: NotificationContent, locale: str, sender: str, to: tuple[str, ...]
) -> EmailMessage:
    """Return text and HTML with the chart embedded; nothing is loaded from another server."""
    top, reported = render_headline(message, locale), render_lines(message, locale)
    email_message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))  # every server accepts it
    email_message["Subject"] = f"[Culprit] {top}"[:200]
    email_message["From"], email_message["To"] = sender, ", ".join(to)
    email_message["Date"] = format_datetime(utc_now())
    email_message["Message-ID"] = f"<{notification_id}@{sender.rpartition('@')[2]}>"
    email_message["Auto-Submitted"] = "auto-generated"
    addresses = [(render_message(word, None, locale), address) for word, address in list_links(message)]
    plain = [top, "", *reported, "", *(f"{word}: {address}" for word, address in addresses)]
    email_message.set_content("\n".join(plain) + "\n")
    content_id = make_msgid(domain="culprit.invalid")
    email_message.add_alternative(
        _render_html(top, reported, addresses, content_id if message.chart else "", locale), subtype="html"
    )
    if message.chart is not None:
        parts = email_message.get_payload()
        parts[1].add_related(render_png(message.chart), "image", "png", cid=content_id)  # type: ignore[index,union-attr]
    return email_message


def _render_html(
    top: str, reported: list[str], addresses: list[tuple[str, str]], content_id: str, locale: str
) -> str:
    rows = "".join(f"<p style='margin:4px 0'>{html.escape(item)}</p>" for item in reported)
    image = f"<p><img src='cid:{content_id[1:-1]}' width='640' height='220' alt=''></p>" if content_id else ""
    anchors = " · ".join(
        f"<a href='{html.escape(address, quote=True)}'>{html.escape(word)}</a>" for word, address in addresses
    )
    return (
        f"<!doctype html><html lang='{locale}'><body style='font:14px/1.5 sans-serif;color:#1a1b1e'>"
        f"<p style='font-size:16px;font-weight:600'>{html.escape(top)}</p>{rows}{image}<p>{anchors}</p></body></html>"
    )


def render_plain_text(message: Mapping[str, Any], locale: str) -> Json:
    """Return the text of a message for the web interface."""
    item = NotificationContent.from_stored(message)
    return {"headline": render_headline(item, locale), "lines": render_lines(item, locale)}
