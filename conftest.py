"""For all tests of this repository."""

import signal

import pytest
from hypothesis import settings

# How long one example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Who runs tests in the background, or under nohup, ignores these for them and for every program that they start.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first: whoever got one of them last would keep the other workers waiting."""
    items.sort(key=seconds, reverse=True)


def seconds(item: pytest.Item) -> float:
    """About how long the file of a test takes; nothing where it does not say so."""
    mark = item.get_closest_marker("long")
    return mark.args[0] if mark else 0.0
