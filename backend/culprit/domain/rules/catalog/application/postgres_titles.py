"""Rules about lock waits and idle transactions of PostgreSQL, without a connection to it."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.database import titles
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_DEADLOCK_S = Threshold("warn", 1.0, "deadlock_timeout: PostgreSQL itself logs a wait that is longer")

RULES = (
    Rule(
        id="F-PG-TITLE-LOCK-WAIT",
        title=Text("Sessions of PostgreSQL wait for locks", "PostgreSQL 会话在等锁"),
        summary=Text(
            "{sessions} sessions wait for locks, one of them for at least {value} s ({title}).",
            "{sessions} 个会话在等锁，其中一个至少等了 {value} 秒（{title}）。",
        ),
        measure=titles.LOCK_WAIT,
        op=">=",
        thresholds=(("warn", _DEADLOCK_S),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("database-lock-wait", "idle-in-transaction"),
        causes=("database-lock-wait",),
        refutes=("database-lock-wait",),
        caveats=Text(
            "`update_process_title` must be on, as it is by default.",
            "需要启用 update_process_title（默认启用）。",
        ),
        source="titles of PostgreSQL processes (update_process_title): `waiting`",
    ),
    Rule(
        id="F-PG-TITLE-LOCK-TIME",
        title=Text("Most busy sessions of PostgreSQL wait for locks", "PostgreSQL 的忙碌会话大多在等锁"),
        summary=Text(
            "At any time, {value} sessions wait for a lock, {part} % of those that have a command ({title}).",
            "任意时刻有 {value} 个会话在等锁，占正在执行命令的会话的 {part} %（{title}）。",
        ),
        measure=titles.WAITING,
        op=">=",
        thresholds=(("warn", Threshold("waiting", 1.0, "at any time one session waits")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                titles.WAITING_PART,
                ">=",
                Threshold("part", 50.0, "percent: statements take twice as long as without the lock"),
            ),
        ),
        suspects=("database-lock-wait", "idle-in-transaction"),
        causes=("database-lock-wait",),
        caveats=Text(
            "Many short transactions on the same row look like this: each wait is short, no session is worth ending.",
            "大量针对同一行的短事务即为此种表现：每次等待都很短，没有可结束的会话。",
        ),
        source="titles of PostgreSQL processes, twice a second: `waiting` is set as soon as a session waits",
    ),
    Rule(
        id="F-PG-TITLE-IDLE-HOLDER",
        title=Text("Only idle transactions can hold the lock", "锁只可能由空闲事务持有"),
        summary=Text(
            "While sessions waited for locks, no session was active for as long. {sessions} sessions were idle in a "
            "transaction, one of them for at least {value} s of the wait ({title}).",
            "会话等锁期间没有同样久的活动会话；{sessions} 个会话在事务中空闲，其中一个至少 {value} 秒（{title}）。",
        ),
        measure=titles.IDLE_HOLDER,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, _DEADLOCK_S.source)),),
        strength=Strength.MECHANISM,
        use=Use("application", "errors"),
        suspects=("idle-in-transaction",),
        causes=("idle-in-transaction",),
        caveats=Text(
            "A prepared transaction can also hold locks; no process shows it.",
            "已准备（prepared）的事务也会持锁，但没有进程可见。",
        ),
        source="PostgreSQL documentation, explicit locking: locks are held until the end of the transaction",
    ),
    Rule(
        id="F-PG-TITLE-WAITS-BEGIN",
        title=Text("Sessions of PostgreSQL begin to wait for locks", "PostgreSQL 会话开始等锁"),
        summary=Text(
            "{value} sessions began or ended a wait for a lock during the capture, such as «{title}».",
            "采集期间有 {value} 个会话开始或结束等锁，例如「{title}」。",
        ),
        measure=titles.NEW_WAITS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "each is a statement that could not go on")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        also=(
            Condition(
                titles.LOCK_WAIT, ">=", Threshold("long", 1.0, "seconds: users lose their flow (Miller 1968)")
            ),
        ),
        causes=("database-lock-wait",),
        harm=True,
        caveats=Text(
            "A session that waits all the time may stand by for another one, and is no harm.",
            "始终在等待的会话可能是在待命，不算损害。",
        ),
        source="update_process_title of PostgreSQL: `waiting` at the end of the title",
    ),
)
