"""Rendering of a frozen report as one HTML page or as Markdown with Jinja2; every value is escaped on output.

The page has no script, needs no network and contains the frozen JSON, so that a reader can verify its SHA-256.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from culprit.domain.reports import pictures
from culprit.domain.reports.escaping import data_block, escape_html, escape_markdown, render_code_block
from culprit.domain.reports.figures import (
    describe_subject,
    format_comparison,
    format_number,
    format_share,
    format_time,
)
from culprit.domain.reports.style import STYLE
from culprit.domain.reports.words import get_label
from culprit.json_types import JsonMapping

STYLE_CSP = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
_TEMPLATES = FileSystemLoader(Path(__file__).parent / "templates")


def render_html_page(content: JsonMapping, digest: str, version: int | None) -> str:
    """Render the whole page. `version` None marks a preview."""
    return _HTML.get_template("report.html.j2").render(
        _build_context(content, digest, version), csp=STYLE_CSP, time=partial(_render_time, content)
    )


def render_markdown_page(content: JsonMapping, digest: str, version: int | None) -> str:
    """Render the whole report, one paragraph or list item per line."""
    return _MARKDOWN.get_template("report.md.j2").render(_build_context(content, digest, version))


def _build_environment(escape: Callable[[object], str], values: Mapping[str, object]) -> Environment:
    """Return an environment that escapes every value of a template; only Markup is written as it is."""

    def finalize(value: object) -> Markup:
        return value if isinstance(value, Markup) else Markup(escape(value))  # noqa: S704 - escaped here

    environment = Environment(
        loader=_TEMPLATES,
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=False,
        keep_trailing_newline=True,
    )
    environment.globals.update(values)
    return environment


def _build_context(content: JsonMapping, digest: str, version: int | None) -> dict[str, Any]:
    language = content["language"]
    word = partial(get_label, language=language)
    return {
        "report": content,
        "digest": digest,
        "version_name": "PREVIEW" if version is None else f"{word('version')} {version}",
        "word": word,
        "time": lambda at: format_time(at, content["zone"]) or word("not_known"),
        "comparison": partial(format_comparison, language=language),
    }


def _render_time(content: JsonMapping, at: object) -> Markup:
    text = escape_html(format_time(at, content["zone"]))
    unknown = escape_html(get_label("not_known", content["language"]))
    return Markup(text or f'<span class="dim">{unknown}</span>')  # noqa: S704 - both are escaped


def _format_figure_name(item: JsonMapping) -> str:
    where = describe_subject(item["subject"])
    return str(item["measure_title"]) + (f" ({where})" if where else "")


def _describe_scope(scope: JsonMapping) -> str:
    return describe_subject({name: value for name, value in scope.items() if name != "kind" and value})


def _describe_symptom(item: JsonMapping) -> str:
    levels = "; ".join(
        f"{level['name']} {format_number(level['before'], level['unit'])} → "
        f"{format_number(level['after'], level['unit'])}"
        for level in item["levels"]
    )
    return "; ".join(filter(None, (item["service"], item["description"], levels)))


def _list_suggested_fixes(causes: list[JsonMapping]) -> list[str]:
    """Return the fixes that rules suggest for the causes, each once; older reports have none."""
    return list(dict.fromkeys(fix for cause in causes if (fix := cause.get("fix"))))


def _list_verification_sources(item: JsonMapping) -> list[str]:
    return list(dict.fromkeys(source for window in item["windows"] for source in window["cites"]))


def _format_artifact_name(item: JsonMapping) -> str:
    return " ".join(filter(None, (item["host"], item["collector"], item["part"])))


def _format_source_name(item: JsonMapping) -> str:
    return f"{_format_artifact_name(item)} {item.get('frame', '')}".strip()


def _format_line(item: JsonMapping) -> str:
    """Return the text of a line, with a mark if it was truncated."""
    frames = ";".join(item.get("frames", ()))
    return " ".join(filter(None, (frames, item["text"]))) + (" …" if item["cut"] else "")


# The functions below return markup that they have escaped themselves.
def _render_chart(item: JsonMapping) -> Markup:
    return Markup(pictures.draw_windows(item["windows"], item["unit"], item["measure_title"]))  # noqa: S704


def _render_flame_graph(tree: JsonMapping, title: str) -> Markup:
    return Markup(pictures.draw_flame_graph(tree, title))  # noqa: S704


def _render_data_block(content: JsonMapping) -> Markup:
    return Markup(data_block(content))  # noqa: S704


def _render_lines(lines: list[JsonMapping]) -> Markup:
    return Markup(render_code_block([f"{line['n'] or '':>7} {_format_line(line)}" for line in lines]))  # noqa: S704


_SHARED: Mapping[str, object] = {
    "figure_name": _format_figure_name,
    "number": format_number,
    "share": format_share,
    "describe_symptom": _describe_symptom,
    "suggested_fixes": _list_suggested_fixes,
}
_HTML = _build_environment(
    escape_html,
    {
        **_SHARED,
        "style": Markup(STYLE),  # noqa: S704 - a constant
        "describe_scope": _describe_scope,
        "verification_sources": _list_verification_sources,
        "artifact_name": _format_source_name,
        "line_text": _format_line,
        "chart": _render_chart,
        "flame": _render_flame_graph,
        "data_block": _render_data_block,
    },
)
_MARKDOWN = _build_environment(
    escape_markdown, {**_SHARED, "artifact_name": _format_artifact_name, "fence": _render_lines}
)
