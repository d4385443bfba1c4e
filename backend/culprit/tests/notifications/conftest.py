"""As for triggers."""

from culprit.tests.triggers.conftest import fresh_caches, loopback

__all__ = ["fresh_caches", "loopback"]
