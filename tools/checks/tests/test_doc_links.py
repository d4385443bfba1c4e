"""Links between Markdown pages have a target."""

from __future__ import annotations

from pathlib import Path

from tools.checks import doc_links


def test_list_anchors_ignores_code() -> None:
    page = '# On call, now\n\n```\n# a comment\n```\n\n## `a_b` and C\n\n<a id="here"></a>\n'
    assert doc_links.list_anchors(page) == {"on-call-now", "a_b-and-c", "here"}


def test_find_broken_links_names_missing_files_and_anchors(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n[a](other.md) [b](other.md#other) [c](#page) [d](https://example.org/x) `[e](code.md)`\n"
        "[f](gone.md) [g](other.md#gone) [h](#gone)\n"
    )
    assert doc_links.find_broken_links(page) == ["gone.md", "other.md#gone", "#gone"]
