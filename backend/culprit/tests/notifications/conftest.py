"""As for triggers."""

from culprit.tests.automation.triggers.conftest import fresh_caches, loopback

__all__ = ["fresh_caches", "loopback"]
