"""Embedded engines: PostgreSQL and Valkey."""

from culprit.launcher.engines.engine import Engine, EngineError
from culprit.launcher.engines.postgres import Postgres
from culprit.launcher.engines.valkey import Valkey

__all__ = ["Engine", "EngineError", "Postgres", "Valkey"]
