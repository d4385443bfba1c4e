"""S3 server on loopback (moto), with separate buckets."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from culprit.tests.support.web import free_port


@contextmanager
def s3(*buckets: str) -> Iterator[str]:
    """Yield its address, with these buckets."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [sys.executable, "-c", f"from moto.server import main; main(['-p', '{port}'])"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            for bucket in buckets:
                _make(server, f"{url}/{bucket}")
            yield url
        finally:
            server.kill()


def _make(server: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            error.close()
            raise
        except OSError:
            assert server.poll() is None, "the S3 server did not start"
            time.sleep(0.1)
    raise AssertionError("the S3 server does not answer")
