"""Aliases for JSON objects, for every layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
JsonMapping = Mapping[str, Any]
