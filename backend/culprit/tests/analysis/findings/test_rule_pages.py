"""Generated pages of rules and causes."""

from tools.docs.rules_and_causes import build_pages, find_stale_pages


def test_pages_match_the_rules_and_causes():
    assert find_stale_pages() == []


def test_find_stale_pages_reports_changed_pages(tmp_path):
    for name, text in build_pages().items():
        (tmp_path / name).write_text(text)
    assert find_stale_pages(tmp_path) == []
    (tmp_path / "rules.md").write_text("old")
    assert find_stale_pages(tmp_path) == ["rules.md"]
