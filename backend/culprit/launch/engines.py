"""The real engines that a machine with nothing but Python gets: PostgreSQL and Valkey."""

from culprit.launch.postgres import EngineError, Postgres
from culprit.launch.valkey import Valkey

__all__ = ["EngineError", "Postgres", "Valkey"]
