"""A kitchen that takes orders from a queue, a few milliseconds of work for each."""

from __future__ import annotations

import argparse
import time

import pika


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--queue", required=True)
    parser.add_argument("--work-ms", type=float, default=3.0)
    options = parser.parse_args()
    parameters = pika.ConnectionParameters(
        "127.0.0.1", options.port, credentials=pika.PlainCredentials("shop", "shop"), heartbeat=0
    )
    channel = pika.BlockingConnection(parameters).channel()
    channel.queue_declare(options.queue, durable=True)
    channel.basic_qos(prefetch_count=10)
    for method, _, _ in channel.consume(options.queue):
        time.sleep(options.work_ms / 1000)
        channel.basic_ack(method.delivery_tag)


if __name__ == "__main__":
    main()
