"""One transaction around one piece of work, and what may only happen once it is committed.

Nobody else commits, save for `release_connection` and `let_go`. A task message that is sent before the commit may be
worked on before its row can be seen, and a message about a rolled-back row is a lie: hence `after_commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session, sessionmaker

_AFTER = "culprit.after_commit"
_RELEASE = "culprit.on_release"


def after_commit(session: Session, action: Callable[[], object]) -> None:
    """Do `action` once the unit of work has committed; dropped where it rolls back.

    The action must be able to fail without harm: whatever it announces is found by the sweeper anyway.
    """
    session.info.setdefault(_AFTER, []).append(action)


def on_release(session: Session, action: Callable[[], None]) -> None:
    """Do `action` when the session releases its connection before the end of its unit of work."""
    session.info[_RELEASE] = action


def release_connection(session: Session) -> None:
    """Commit, and give the connection back before work that reads nothing more: files, computing, encoding.

    What was read stays as it was read. For units of work that only read, or that have written all they write.
    """
    session.commit()
    release = session.info.pop(_RELEASE, None)
    if release is not None:
        release()


def let_go(session: Session) -> None:
    """Commit what was done so far and give the connection back, before waiting for anything but the database.

    For the beginning of a piece of work, before it has written anything of its own. What was read before may
    be otherwise afterwards, and is read again.
    """
    release_connection(session)
    session.expire_all()


@contextmanager
def unit_of_work(factory: sessionmaker[Session]) -> Iterator[Session]:
    """A session that commits at the end of the block, and rolls back where the block raises."""
    with factory() as session:
        try:
            yield session
            session.commit()
        except BaseException:
            session.rollback()
            raise
        actions = session.info.pop(_AFTER, [])
    for action in actions:
        action()
