"""The worker processes: `python -m culprit.server.worker ssh|parse`.

A worker of queue `ssh` has a pool of threads; each supervises a session in a child of the fork server. A
worker of the queues `parse` and `default` has a pool of processes.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

import structlog
from celery import Celery, bootsteps
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.signals import setup_logging, worker_init, worker_process_init
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import configure_mappers

from culprit.analysis.playbooks.library import load_catalog
from culprit.captures.uploads import locks as claims
from culprit.domain.messages.collector_messages import register_collector_messages
from culprit.infra import logging
from culprit.infra.db.schema_version import NewerSchemaError, check_schema, refuse_newer_schema
from culprit.infra.db.session import Database, get_database
from culprit.infra.sandbox.confinement import get_sandbox
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import get_celery
from culprit.jobs import registry
from culprit.jobs.capture import recover_spool
from culprit.jobs.capture.queries import pending_runs, pending_watchers
from culprit.jobs.capture.run_capture import run_capture
from culprit.jobs.capture.ssh_pool import get_ssh_pool
from culprit.jobs.system.heartbeats import record_heartbeat, remove_heartbeat, touch_alive_file
from culprit.jobs.watchers.run_watcher import run_watcher

# A pool child that is larger after a task is replaced. Memory shared with the parent counts.
POOL_CHILD_MAX_KB = 300_000
log = structlog.get_logger("culprit.server.worker")


class SshPoolStep(bootsteps.StartStopStep):
    """Start the fork server of a worker that serves the queue `ssh`; end its sessions before the pool stops."""

    requires = ("celery.worker.components:Pool",)

    def include_if(self, worker: Any) -> bool:
        """Return whether the worker serves the queue `ssh`."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def start(self, worker: Any) -> None:
        """Start the pool before the first task. Raises SystemExit for a pool without threads."""
        if not isinstance(worker.pool, ThreadPool):
            raise SystemExit("the queue `ssh` needs a pool of threads: start the worker with `-P threads`")
        get_ssh_pool().start()
        recover_spool.commit_spooled_results()

    def stop(self, worker: Any) -> None:
        """End all sessions; their runs return to the queue."""
        get_ssh_pool().stop()


class PeriodicStep(bootsteps.StartStopStep):
    """A step that runs every few seconds in its own thread.

    The timer of the worker cannot be used: it stops while the broker is unreachable.
    """

    abstract = True
    every_s = 10.0

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._repeat, name=type(self).__name__, daemon=True)

    def begin(self, worker: Any) -> None:
        """Prepare the first round."""

    def run_once(self) -> None:
        """Run one round."""

    def start(self, worker: Any) -> None:
        """Start the thread."""
        self.begin(worker)
        self.thread.start()

    def stop(self, worker: Any) -> None:
        """Stop after the current round."""
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()

    def _repeat(self) -> None:
        """Repeat until `stop`. No error may end the thread, because nothing restarts it."""
        while not self.stopping.wait(self.every_s):
            try:
                self.run_once()
            except (DBAPIError, PoolTimeout) as error:
                log.warning("database_away", error=type(error).__name__)
            except Exception as error:
                log.error("repeated_step_failed", step=type(self).__name__, exc_info=error)


class BrokerFallbackStep(PeriodicStep):
    """Start due runs from the database while the broker is unreachable."""

    requires = ("celery.worker.components:Pool", SshPoolStep)
    every_s = 3.0

    def include_if(self, worker: Any) -> bool:
        """Return whether the worker serves the queue `ssh`."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def begin(self, worker: Any) -> None:
        """Create a pool as large as that of the worker."""
        self.redis = Redis.from_url(get_settings().redis_url, socket_connect_timeout=1, socket_timeout=1)
        self.room: int = worker.concurrency
        self.pool = ThreadPoolExecutor(self.room, thread_name_prefix="stand-in")

    def stop(self, worker: Any) -> None:
        """Wait for the sessions, which end at the same time."""
        super().stop(worker)
        self.pool.shutdown(wait=True, cancel_futures=True)

    def run_once(self) -> None:
        """Check the broker; start due runs if it is unreachable."""
        try:
            self.redis.ping()
            return
        except (RedisError, OSError):
            room = self.room - get_ssh_pool().active_runs
        with get_database().sessions() as session:
            run_ids = session.scalars(pending_runs().limit(max(0, room))).all()
        for run_id in run_ids:
            self.pool.submit(run_capture, run_id).add_done_callback(_log_failure)


class WatcherStep(PeriodicStep):
    """Run watchers in separate threads, so that they take none from captures.

    It queries the database every second and does not need the broker.
    """

    requires = ("celery.worker.components:Pool", SshPoolStep)
    every_s = 1.0

    def include_if(self, worker: Any) -> bool:
        """Return whether the worker serves the queue `ssh`."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def begin(self, worker: Any) -> None:
        """Create a thread for each host that one worker may watch."""
        self.room = get_settings().watcher_concurrency
        self.pool = ThreadPoolExecutor(self.room, thread_name_prefix="watcher")
        self.watched: set[UUID] = set()

    def stop(self, worker: Any) -> None:
        """End the sessions; they do not end on their own."""
        super().stop(worker)
        get_ssh_pool().stopping.set()
        self.pool.shutdown(wait=True, cancel_futures=True)

    def run_once(self) -> None:
        """Start waiting watchers while there is a free thread."""
        room = self.room - len(self.watched)
        if room <= 0:
            return
        with get_database().sessions() as session:
            due_ids = session.scalars(pending_watchers().limit(room))
            watcher_ids = [watcher_id for watcher_id in due_ids if watcher_id not in self.watched]
        for watcher_id in watcher_ids:
            self.watched.add(watcher_id)
            self.pool.submit(self._watch, watcher_id).add_done_callback(_log_failure)

    def _watch(self, watcher_id: UUID) -> str | None:
        try:
            return run_watcher(watcher_id)
        finally:
            self.watched.discard(watcher_id)


def _log_failure(done: Future[str | None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("run_failed", exc_info=error)


class WorkDirCleanupStep(PeriodicStep):
    """Delete files that processes of this machine left in the working directory when they died."""

    requires = ("celery.worker.components:Pool",)

    def include_if(self, worker: Any) -> bool:
        """Return whether the worker serves the queue `parse`, whose children may be killed while they parse."""
        return "parse" in worker.app.amqp.queues.consume_from

    def run_once(self) -> None:
        """Delete abandoned files. It opens its own connection, because pool children fork."""
        config = get_settings()
        db = Database(config.sqlalchemy_url, pool_size=1)
        try:
            claims.remove_abandoned(db, config.home / "work")
        finally:
            db.close()


class HeartbeatStep(PeriodicStep):
    """Record heartbeats of this worker. It opens its own connections, because pool children fork."""

    requires = ("celery.worker.components:Pool",)

    def begin(self, worker: Any) -> None:
        """Record the first heartbeat and log the sandbox."""
        self.process_name = f"worker@{socket.gethostname()}:{os.getpid()}"
        self.detail = {"queues": sorted(worker.app.amqp.queues.consume_from), "room": worker.concurrency}
        self.is_schema_checked = False
        self.run_once()
        sandbox = get_sandbox()
        level = log.warning if sandbox.mode == "none" else log.info
        level("sandbox_chosen", sandbox=sandbox.describe())

    def run_once(self) -> None:
        """Record a heartbeat. The file serves the health check of a container, which must not need the database."""
        touch_alive_file()
        try:
            self._store_heartbeat(self._record_checked, self.detail)
        except NewerSchemaError as error:
            log.error("schema_newer", message=str(error))
            os.kill(os.getpid(), signal.SIGTERM)

    def _record_checked(self, db: Database, name: str, detail: Any) -> None:
        """Record a heartbeat, the first time after a check of the tables. Raises NewerSchemaError."""
        if not self.is_schema_checked:
            check_schema(db)
            self.is_schema_checked = True
        record_heartbeat(db, name, detail)

    def stop(self, worker: Any) -> None:
        """Remove the heartbeat."""
        super().stop(worker)
        self._store_heartbeat(remove_heartbeat)

    def _store_heartbeat(self, what: Any, *arguments: Any) -> None:
        db = Database(get_settings().sqlalchemy_url, pool_size=1)
        try:
            what(db, self.process_name, *arguments)
        except (DBAPIError, PoolTimeout) as error:
            log.warning("database_away", error=type(error).__name__)
        finally:
            db.close()


@setup_logging.connect
def _configure_logging(**_: Any) -> None:
    logging.configure_logging(get_settings().log_level)


@worker_init.connect
def _load_before_fork(sender: Any = None, **_: Any) -> None:
    """Load what each pool child needs before they are forked, so that they share its memory."""
    if sender is None or "parse" not in sender.app.amqp.queues.consume_from:
        return
    configure_mappers()
    load_catalog()
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def _replace_connections(**_: Any) -> None:
    """Drop the connections of the parent, and exclude its objects from garbage collection in a forked child."""
    if get_database.cache_info().currsize:
        get_database().engine.dispose(close=False)
        get_database.cache_clear()
    gc.freeze()


def make_app() -> Celery:
    """Return the Celery application with its tasks and steps."""
    worker_app = get_celery()
    worker_app.conf.update(
        worker_prefetch_multiplier=1,
        worker_max_memory_per_child=POOL_CHILD_MAX_KB,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_max_retries=None,
        broker_connection_retry=True,
        broker_heartbeat=0,
    )
    for step in (SshPoolStep, BrokerFallbackStep, WatcherStep, WorkDirCleanupStep, HeartbeatStep):
        worker_app.steps["worker"].add(step)
    registry.install_tasks(worker_app)
    register_collector_messages()
    return worker_app


def build_worker_arguments(kind: str) -> list[str]:
    """Return the arguments of `celery worker` for one kind of worker."""
    config = get_settings()
    options = {
        "ssh": ["-Q", "ssh", "-P", "threads", "-c", str(config.ssh_concurrency)],
        "parse": ["-Q", "parse,default", "-P", "prefork", "-c", str(config.parse_concurrency)],
    }[kind]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", config.log_level]
    return ["worker", "-n", f"{kind}-{os.getpid()}@%h", *options, *quiet]


def main(kind: str) -> None:
    """Run a worker of one kind, `ssh` or `parse`, until it is stopped."""
    refuse_newer_schema()
    make_app().worker_main(build_worker_arguments(kind))


if __name__ == "__main__":
    main(sys.argv[1])
