"""The processes that work: `celery -A culprit.worker worker …`, or `python -m culprit.worker ssh|parse`.

Two kinds, told apart by their queues. The one of queue `ssh` has a pool of threads, each of which watches
over a session in a child of the fork server; the one of `parse` (and `default`) has a pool of processes.
"""

from __future__ import annotations

import gc
import os
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
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import configure_mappers

from culprit import tasks
from culprit.captures.leases import due
from culprit.config import settings
from culprit.imports import upload_claims
from culprit.infra.broker import celery
from culprit.infra.db import Database, database
from culprit.infra.sandbox import get_sandbox
from culprit.kit import logs
from culprit.models import Run, Standby
from culprit.playbooks.library import library
from culprit.standbys.leases import due as standbys_due
from culprit.workflows import recover
from culprit.workflows.crew import crew
from culprit.workflows.keep_watch import keep_watch
from culprit.workflows.run_capture import run_capture
from culprit.workflows.worker_states import gone, seen, touch_alive_file

# A pool child that is larger after a task is replaced; what it shares with its parent counts, too.
POOL_CHILD_MAX_KB = 300_000
log = structlog.get_logger("culprit.worker")


class SshCrew(bootsteps.StartStopStep):
    """The fork server of a worker that serves the queue `ssh`; ends its sessions before the pool stops."""

    requires = ("celery.worker.components:Pool",)

    def include_if(self, worker: Any) -> bool:
        """Only where the queue is served."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def start(self, worker: Any) -> None:
        """Before the first task; refuses a pool whose tasks could not be watched over."""
        if not isinstance(worker.pool, ThreadPool):
            raise SystemExit("the queue `ssh` needs a pool of threads: start the worker with `-P threads`")
        crew().start()
        recover.recover()

    def stop(self, worker: Any) -> None:
        """Sessions end, their runs go back into the queue."""
        crew().stop()


class Repeated(bootsteps.StartStopStep):
    """Something done every few seconds in a thread of its own.

    Not with the worker's timer: that one stands still while the broker is away.
    """

    abstract = True
    every_s = 10.0

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._repeat, name=type(self).__name__, daemon=True)

    def begin(self, worker: Any) -> None:
        """Before the first time."""

    def once(self) -> None:
        """What is done."""

    def start(self, worker: Any) -> None:
        """Begins."""
        self.begin(worker)
        self.thread.start()

    def stop(self, worker: Any) -> None:
        """Ends, after what is just being done."""
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()

    def _repeat(self) -> None:
        """Repeat until the end. An error, foreseen or not, must not end the thread: nobody would start it again."""
        while not self.stopping.wait(self.every_s):
            try:
                self.once()
            except (DBAPIError, PoolTimeout) as error:
                log.warning("database_away", error=type(error).__name__)
            except Exception as error:
                log.error("repeated_step_failed", step=type(self).__name__, exc_info=error)


class StandIn(Repeated):
    """Starts due runs from the database while the broker is away; otherwise only looks whether it is."""

    requires = ("celery.worker.components:Pool", SshCrew)
    every_s = 3.0

    def include_if(self, worker: Any) -> bool:
        """Only where the queue `ssh` is served."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def begin(self, worker: Any) -> None:
        """As much at once as the worker's own pool would do."""
        self.redis = Redis.from_url(settings().redis_url, socket_connect_timeout=1, socket_timeout=1)
        self.room: int = worker.concurrency
        self.pool = ThreadPoolExecutor(self.room, thread_name_prefix="stand-in")

    def stop(self, worker: Any) -> None:
        """The sessions are being ended at the same time."""
        super().stop(worker)
        self.pool.shutdown(wait=True, cancel_futures=True)

    def once(self) -> None:
        """One look."""
        try:
            self.redis.ping()
            return
        except (RedisError, OSError):
            room = self.room - crew().busy
        with database().sessions() as session:
            query = select(Run.id).where(due()).order_by(Run.queued_at).limit(max(0, room))
            found = session.scalars(query).all()
        for run_id in found:
            self.pool.submit(run_capture, run_id).add_done_callback(_tell_bug)


class Watchers(Repeated):
    """Looks after what waits on hosts, in threads of its own: not one of those that capture is kept by it.

    Asked of the database every second, whether the broker is there or not.
    """

    requires = ("celery.worker.components:Pool", SshCrew)
    every_s = 1.0

    def include_if(self, worker: Any) -> bool:
        """Only where the queue `ssh` is served."""
        return "ssh" in worker.app.amqp.queues.consume_from

    def begin(self, worker: Any) -> None:
        """Room for as many hosts as one worker may watch."""
        self.room = settings().standby_concurrency
        self.pool = ThreadPoolExecutor(self.room, thread_name_prefix="watcher")
        self.mine: set[UUID] = set()

    def stop(self, worker: Any) -> None:
        """Their sessions would never end by themselves."""
        super().stop(worker)
        crew().stopping.set()
        self.pool.shutdown(wait=True, cancel_futures=True)

    def once(self) -> None:
        """One look."""
        room = self.room - len(self.mine)
        if room <= 0:
            return
        with database().sessions() as session:
            query = select(Standby.id).where(standbys_due()).order_by(Standby.created_at).limit(room)
            found = [one for one in session.scalars(query) if one not in self.mine]
        for standby_id in found:
            self.mine.add(standby_id)
            self.pool.submit(self._watch, standby_id).add_done_callback(_tell_bug)

    def _watch(self, standby_id: UUID) -> str | None:
        try:
            return keep_watch(standby_id)
        finally:
            self.mine.discard(standby_id)


def _tell_bug(done: Future[str | None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("run_failed", exc_info=error)


class Sweeper(Repeated):
    """Removes what other processes of this machine left in their working directory when they died."""

    requires = ("celery.worker.components:Pool",)

    def include_if(self, worker: Any) -> bool:
        """Only where the queue `parse` is served: its children are the ones that may be killed for what they read."""
        return "parse" in worker.app.amqp.queues.consume_from

    def once(self) -> None:
        """Again. Connections are its own: pool children fork."""
        config = settings()
        db = Database(config.sqlalchemy_url, pool_size=1)
        try:
            upload_claims.sweep(db, config.home / "work")
        finally:
            db.close()


class SignOfLife(Repeated):
    """Notes in the database that this worker lives. Its connections are its own: pool children fork."""

    requires = ("celery.worker.components:Pool",)

    def begin(self, worker: Any) -> None:
        """Once at the start."""
        self.known_as = f"worker@{socket.gethostname()}:{os.getpid()}"
        self.detail = {"queues": sorted(worker.app.amqp.queues.consume_from), "room": worker.concurrency}
        touch_alive_file()
        self._note(seen, self.detail)
        sandbox = get_sandbox()
        level = log.warning if sandbox.mode == "none" else log.info
        level("sandbox_chosen", sandbox=sandbox.describe())

    def once(self) -> None:
        """Again. The file is for the health check of a container, which must not depend on the database."""
        touch_alive_file()
        self._note(seen, self.detail)

    def stop(self, worker: Any) -> None:
        """It has ended properly."""
        super().stop(worker)
        self._note(gone)

    def _note(self, what: Any, *arguments: Any) -> None:
        db = Database(settings().sqlalchemy_url, pool_size=1)
        try:
            what(db, self.known_as, *arguments)
        except (DBAPIError, PoolTimeout) as error:
            log.warning("database_away", error=type(error).__name__)
        finally:
            db.close()


@setup_logging.connect
def _logging(**_: Any) -> None:
    logs.configure(settings().log_level)


@worker_init.connect
def _load_before_fork(sender: Any = None, **_: Any) -> None:
    """Load what each pool child needs before they are forked, so that they share its memory."""
    if sender is None or "parse" not in sender.app.amqp.queues.consume_from:
        return
    configure_mappers()
    library()
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def _own_connections(**_: Any) -> None:
    """A forked child must not use the connections of its parent, nor look through its modules for garbage."""
    if database.cache_info().currsize:
        database().engine.dispose(close=False)
        database.cache_clear()
    gc.freeze()


def make_app() -> Celery:
    """The application with its tasks and steps."""
    made = celery()
    made.conf.update(
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
    for step in (SshCrew, StandIn, Watchers, Sweeper, SignOfLife):
        made.steps["worker"].add(step)
    tasks.install(made)
    return made


app = make_app()


def arguments(kind: str) -> list[str]:
    """What `celery worker` is started with for one kind."""
    config = settings()
    own = {
        "ssh": ["-Q", "ssh", "-P", "threads", "-c", str(config.ssh_concurrency)],
        "parse": ["-Q", "parse,default", "-P", "prefork", "-c", str(config.parse_concurrency)],
    }[kind]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", config.log_level]
    return ["worker", "-n", f"{kind}-{os.getpid()}@%h", *own, *quiet]


if __name__ == "__main__":
    app.worker_main(arguments(sys.argv[1]))
