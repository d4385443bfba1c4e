"""For all tests of this repository."""

import gc
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

# The duration of an example depends more on the machine than on the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Who runs tests in the background, or under nohup, ignores these for them and for every program that they start.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


# Collection creates millions of objects, nearly all of which stay: each full garbage collection would look at them.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect garbage again after the collection of tests, but rarely, and only among the objects that tests create."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first: a worker that got one of them last would keep the others waiting."""
    items.sort(key=seconds, reverse=True)


def seconds(item: pytest.Item) -> float:
    """Approximate duration of the file of a test; 0 without the mark `long`."""
    mark = item.get_closest_marker("long")
    return mark.args[0] if mark else 0.0
