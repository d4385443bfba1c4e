"""Import what the processes of the product import after their start. The fork server of tests does it once for all.

Modules that a process finds by walking through packages are imported only when it looks for them.
"""

from __future__ import annotations

import gc
import importlib

from culprit.analysis.playbooks.library import load_catalog
from culprit.jobs import registry
from culprit.server.api import find_routers
from sqlalchemy.orm import configure_mappers

STARTED_BY_NAME = (
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "celery.fixups.django",
    "celery.worker.components",
    "celery.worker.consumer",
    "kombu.transport.redis",
    "psycopg.pq",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.main",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.auto",
)

for name in STARTED_BY_NAME:
    importlib.import_module(name)
registry.load_jobs()
list(find_routers())
load_catalog()
configure_mappers()
gc.collect()
gc.freeze()
