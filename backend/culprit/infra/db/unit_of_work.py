"""One transaction around one piece of work, and actions that run only after its commit.

Only this module commits, except for `release_connection` and `release_and_expire`. A job message that is sent
before the commit may be processed before its row is visible, and a message about a rolled-back row would be wrong:
hence `after_commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session, sessionmaker

_ACTIONS_KEY = "culprit.after_commit"
_RELEASE_KEY = "culprit.on_release"


def after_commit(session: Session, action: Callable[[], object]) -> None:
    """Run `action` after the commit of the unit of work; drop it on a rollback.

    The action may fail without harm: the sweep finds the pending work.
    """
    session.info.setdefault(_ACTIONS_KEY, []).append(action)


def on_release(session: Session, action: Callable[[], None]) -> None:
    """Run `action` when the session releases its connection before the end of its unit of work."""
    session.info[_RELEASE_KEY] = action


def release_connection(session: Session) -> None:
    """Commit and release the connection before work that reads nothing more: files, computing, encoding.

    Loaded objects keep their values. For units of work that only read, or that have finished writing.
    """
    session.commit()
    release = session.info.pop(_RELEASE_KEY, None)
    if release is not None:
        release()


def release_and_expire(session: Session) -> None:
    """Commit and release the connection before waiting for anything but the database.

    For the beginning of a piece of work, before it writes anything. Values that were read before may change
    and are read again.
    """
    release_connection(session)
    session.expire_all()


@contextmanager
def unit_of_work(factory: sessionmaker[Session]) -> Iterator[Session]:
    """Yield a session that commits at the end of the block, and rolls back if the block raises."""
    with factory() as session:
        try:
            yield session
            session.commit()
        except BaseException:
            session.rollback()
            raise
        actions = session.info.pop(_ACTIONS_KEY, [])
    for action in actions:
        action()
