"""For all tests of this repository."""

import signal

from hypothesis import settings

# How long one example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Who runs tests in the background, or under nohup, ignores these for them and for every program that they start.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
