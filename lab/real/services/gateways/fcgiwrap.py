"""A fcgiwrap on the host, which runs the CGI program of git for an nginx, and its repositories."""

from __future__ import annotations

import os
import random
import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

BACKEND = "/usr/lib/git-core/git-http-backend"
NULL_PACKET, LAST_PACKET = "0000", "0009done\n"
CREATE = """
umask 022; cd {top}; export GIT_CONFIG_GLOBAL=/dev/null HOME={top}
export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@example.net GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@example.net
git init -q -b main work; cd work
for part in $(seq {parts}); do head -c 1500k /dev/urandom >part$part.bin; done
git add .; git commit -qm 'Add media'; cd ..; git clone -q --bare --no-hardlinks work {media}.git; rm -rf work
git init -q -b main work; cd work
for file in $(seq {files}); do seq $file 400 >file$file.txt; git add .; git commit -qm "Add file $file"; done; cd ..
for n in $(seq 0 {last}); do git clone -q --bare --no-hardlinks work p$n.git; done; rm -rf work
chown -R www-data:www-data {top}
"""
LOCATION = """
        location ~ ^/p?[a-z0-9]+\\.git/ {{
            include /etc/nginx/fastcgi_params; fastcgi_pass unix:{socket}; fastcgi_buffering off;
            fastcgi_param SCRIPT_FILENAME {backend}; fastcgi_param PATH_INFO $uri;
            fastcgi_param GIT_PROJECT_ROOT {top}; fastcgi_param GIT_HTTP_EXPORT_ALL 1;
        }}
"""


class Fcgiwrap:
    """A fcgiwrap that runs. `top` is the directory of the repositories, `media` the name of the large one."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, children: int) -> None:
        """Create the repositories, start fcgiwrap and wait until it listens."""
        self.environment = environment
        self.socket = environment.directory / "fcgiwrap" / "fcgiwrap.socket"
        environment.host_sh(f"install -d -o www-data {self.socket.parent}")
        self.repositories = rng.randrange(6, 14)
        self.media = rng.choice(("media", "assets", "design"))
        self.top = environment.directory / "git"
        self.top.mkdir()
        words = CREATE.format(
            top=self.top, parts=rng.randrange(24, 36), media=self.media, files=rng.randrange(3, 9),
            last=self.repositories - 1,
        )  # fmt: skip
        subprocess.run(["sh", "-ec", words], check=True, capture_output=True, timeout=60)
        self.start(children)

    @property
    def pid(self) -> int:
        """The process that starts the children."""
        return self.server.pid

    def build_location(self) -> str:
        """Return the lines of nginx."""
        return LOCATION.format(socket=self.socket, backend=BACKEND, top=self.top)

    def start(self, children: int) -> None:
        """Start fcgiwrap with this number of children."""
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "--",
             "fcgiwrap", "-c", str(children), "-s", f"unix:{self.socket}"]
        )  # fmt: skip
        wait_for(self.socket.exists, "fcgiwrap")

    def restart(self, children: int) -> None:
        """Start again with this number of children."""
        self.environment.stop(self.server)
        self.socket.unlink()
        self.start(children)

    def write_request(self) -> str:
        """Write what a copy of the large repository asks for, and return the path of the file."""
        head = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(self.top / f"{self.media}.git"), "rev-parse", "HEAD"],
            capture_output=True, text=True, check=True, env=os.environ | {"HOME": str(self.top)},
        ).stdout.strip()  # fmt: skip
        file = self.environment.directory / "branch.request"
        file.write_text(f"0032want {head}\n{NULL_PACKET}{LAST_PACKET}")
        return str(file)
