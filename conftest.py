"""For all tests of this repository."""

import gc
import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import settings

# The duration of an example depends more on the machine than on the code, so no example has a deadline.
settings.register_profile("short", deadline=None, max_examples=30)
settings.register_profile("full", deadline=None, max_examples=100)

# Who runs tests in the background, or under nohup, ignores these for them and for every program that they start.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """A run without the slow tests tries fewer examples of each property."""
    settings.load_profile("short" if config.option.markexpr == "not slow" else "full")


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


@pytest.fixture
def busy_cpus() -> Iterator[None]:
    """Keep every CPU busy at the lowest priority: a recording can lose how an idle CPU begins to work."""
    with ExitStack() as stack:
        for cpu in os.sched_getaffinity(0):
            command = ["taskset", "-c", str(cpu), "nice", "-n", "19", "sh", "-c", "echo; while :; do :; done"]
            child = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(child.kill)
            assert child.stdout and child.stdout.read(1)
        yield
