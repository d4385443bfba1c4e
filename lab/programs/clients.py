"""Clients of a service: an open loop, which asks at its rate whether or not answers come, as the world does."""

from __future__ import annotations

import argparse
import asyncio
import errno
import random
import resource
import time
from pathlib import Path
from typing import TextIO

IN_FLIGHT_LIMIT = 3000
ANSWER_LIMIT = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port, or several with commas, asked in turn")
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second")
    parser.add_argument("--burst", type=int, default=1, help="how many come at the same moment")
    parser.add_argument("--poisson", action="store_true", help="random gaps instead of even ones")
    parser.add_argument("--timeout-s", type=float, default=2.0)
    parser.add_argument("--hang-up", action="store_true", help="the client closes first, and keeps TIME_WAIT")
    parser.add_argument("--kept", type=int, default=0, help="send over this many kept connections")
    parser.add_argument(
        "--hold", type=int, default=0, help="only open this many connections and keep them idle"
    )
    parser.add_argument("--body-bytes", type=int, default=0)
    parser.add_argument("--name", default="clients")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text(options.name[:15])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    run = _hold if options.hold else _kept if options.kept else _open_loop
    with Path(options.log).open("w", buffering=1) as log:
        asyncio.run(run(options, log))


async def _open_loop(options: argparse.Namespace, log: TextIO) -> None:
    gaps = random.Random(options.seed)
    destinations = [(address, int(port)) for address, port in (to.split(":") for to in options.to.split(","))]
    running: set[asyncio.Task[None]] = set()
    due, number = time.monotonic(), 0
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        for _ in range(options.burst):
            if len(running) < IN_FLIGHT_LIMIT:
                task = asyncio.create_task(_request(destinations[number % len(destinations)], options, log))
                running.add(task)
                task.add_done_callback(running.discard)
            number += 1
        gap = options.burst / options.rate
        due += gaps.expovariate(1 / gap) if options.poisson else gap


async def _request(destination: tuple[str, int], options: argparse.Namespace, log: TextIO) -> None:
    began, start = time.time(), time.monotonic()
    try:
        async with asyncio.timeout(options.timeout_s):
            outcome = await _ask(destination, options)
    except TimeoutError:
        outcome = "timeout"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, type(error).__name__)
    except asyncio.IncompleteReadError:
        outcome = "short"
    log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


async def _ask(destination: tuple[str, int], options: argparse.Namespace) -> str:
    reader, writer = await asyncio.open_connection(*destination)
    try:
        writer.write(_request_text(options, last=not options.hang_up))
        outcome = await _answer(reader)
        if not options.hang_up:
            await reader.read(1)  # the server's end first
        return outcome
    finally:
        writer.close()


async def _kept(options: argparse.Namespace, log: TextIO) -> None:
    address, port = options.to.split(":")
    workers = [_kept_worker(address, int(port), options, log, number) for number in range(options.kept)]
    await asyncio.gather(*workers)


async def _kept_worker(
    address: str, port: int, options: argparse.Namespace, log: TextIO, number: int
) -> None:
    gap = options.kept / options.rate
    await asyncio.sleep(gap * number / options.kept)
    while True:
        began, outcome = time.time(), "ok"
        writer = None
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(address, port), options.timeout_s)
            while outcome == "ok":
                began, start = time.time(), time.monotonic()
                writer.write(_request_text(options, last=False))
                outcome = await asyncio.wait_for(_answer(reader), options.timeout_s)
                log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")
                await asyncio.sleep(max(0.0, gap - (time.monotonic() - start)))
        except TimeoutError:
            log.write(f"{began:.3f} timeout {(time.time() - began) * 1000:.2f}\n")
        except (OSError, asyncio.IncompleteReadError) as error:
            name = errno.errorcode.get(getattr(error, "errno", 0) or 0, "short")
            log.write(f"{began:.3f} {name} {(time.time() - began) * 1000:.2f}\n")
            await asyncio.sleep(gap)
        finally:
            if writer:
                writer.close()


async def _hold(options: argparse.Namespace, log: TextIO) -> None:
    """Idle connections. The log has a line for each that was opened or failed."""
    address, port = options.to.split(":")
    held = []
    for _ in range(options.hold):
        began, outcome = time.time(), "ok"
        try:
            held.append(
                await asyncio.wait_for(asyncio.open_connection(address, int(port)), options.timeout_s)
            )
        except OSError as error:  # TimeoutError is one too
            outcome = errno.errorcode.get(error.errno or 0, "timeout")
        log.write(f"{began:.3f} {outcome} {(time.time() - began) * 1000:.2f}\n")
    await asyncio.Event().wait()


def _request_text(options: argparse.Namespace, *, last: bool) -> bytes:
    close = b"Connection: close\r\n" if last else b""
    if not options.body_bytes:
        return b"GET /orders/17 HTTP/1.1\r\nHost: service\r\n%s\r\n" % close
    head: bytes = b"POST /orders HTTP/1.1\r\nHost: service\r\n%sContent-Length: %d\r\n\r\n"
    body = b"z" * int(options.body_bytes)
    return head % (close, len(body)) + body


async def _answer(reader: asyncio.StreamReader) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(min(length, ANSWER_LIMIT))
    return "ok" if head.split(b" ", 2)[1] == b"200" else f"http_{head.split(b' ', 2)[1].decode()}"


if __name__ == "__main__":
    main()
