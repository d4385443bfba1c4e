"""Causes about queues of listening sockets."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="listen-queue-overflow",
        title=Text("A listen queue overflows", "监听队列溢出"),
        what=Text(
            "New connections arrive faster than the program accepts them and its accept queue is too short for the"
            " burst; the kernel drops the last step of the handshake and clients wait for their retransmission.",
            "新连接到达快于程序 accept，接受队列容不下突发；内核丢弃握手的最后一步，客户端只能等待重传。",
        ),
        fix=Text(
            "Raise the backlog of listen() and net.core.somaxconn together; make the program accept faster.",
            "同时提高 listen() 的 backlog 与 net.core.somaxconn，并让程序更快地 accept。",
        ),
        risk=Text(
            "A longer queue hides a slow service behind waiting time; somaxconn acts on listen() calls made later, so"
            " the service must be restarted. To take it back, set the old value and restart.",
            "更长的队列会把慢服务变成等待时间；somaxconn 只对之后的 listen() 生效，需重启服务。回退：恢复旧值并重启。",
        ),
        verify=Text(
            "The same load again: no overflows, no connection times near 1 s, 3 s or 7 s.",
            "相同负载下再次采集：无溢出，且没有接近 1、3、7 秒的连接耗时。",
        ),
    ),
)
