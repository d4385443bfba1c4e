"""The published lists of rules and causes."""

from culprit.findings.published import pages, stale


def test_the_pages_say_what_the_catalogues_say():
    assert stale() == []


def test_a_stale_page_is_noticed(tmp_path):
    for name, text in pages().items():
        (tmp_path / name).write_text(text)
    assert stale(tmp_path) == []
    (tmp_path / "rules.md").write_text("old")
    assert stale(tmp_path) == ["rules.md"]
