"""Inventories of hosts, well-formed and malformed."""

from __future__ import annotations

import base64
import time
from contextlib import suppress

import pytest
from culprit.hosts.inventory import ansible, csv_list, known_hosts, ssh_config
from culprit.hosts.inventory.candidate import MAX_ROWS
from culprit.web.errors import InvalidRequestError
from hypothesis import given, settings
from hypothesis import strategies as st

READERS = [ansible.parse_hosts, csv_list.parse_hosts, known_hosts.parse_hosts, ssh_config.parse_hosts]


def blob(kind: str = "ssh-ed25519", fill: int = 7) -> str:
    data = len(kind).to_bytes(4, "big") + kind.encode() + (32).to_bytes(4, "big") + bytes([fill]) * 32
    return base64.b64encode(data).decode()


SSH_CONFIG = """
# first value wins
User everybody
Host web1 web2
    HostName %h.prod.example
    Port 2222
Host db
  HostName=10.0.0.5
  User "postgres"
  ProxyJump bastion
Host bastion
    HostName bastion.example
    ProxyJump none
Host *.prod !old.prod
    Port 1
Host web*
    User late
    IdentityFile ~/.ssh/id_ed25519
Match exec "rm -rf /"
    User evil
Host far
    ProxyCommand nc %h %p
Host via
    ProxyJump joe@bastion:2200,other
Host bad
    Port 70000
"""


def test_ssh_config() -> None:
    results = {host.name: host for host in ssh_config.parse_hosts(SSH_CONFIG)}
    assert list(results) == ["web1", "web2", "db", "bastion", "far", "via", "bad"]
    assert (results["web1"].address, results["web1"].port, results["web1"].username) == (
        "web1.prod.example", 2222, "everybody",
    )  # fmt: skip
    assert results["db"].jump == "bastion" and results["db"].username == "everybody"
    assert results["bastion"].jump is None and results["bastion"].port == 22
    assert results["far"].problem == "import.proxy_command"
    assert results["via"].problem == "import.jump_chain"
    assert results["bad"].problem == "import.port_unreadable"
    assert "evil" not in str(results)


def test_ssh_config_negation_and_brackets() -> None:
    text = "Host a.prod old.prod x[1]\n  Port 5\nHost *.prod !old.prod\n  User p\nHost x[1]*\n  User b\n"
    results = {host.name: host.username for host in ssh_config.parse_hosts(text)}
    assert results == {"a.prod": "p", "old.prod": None, "x[1]": "b"}


ANSIBLE_INI = """
lonely ansible_host=10.0.0.1 ansible_password=hunter2
[feed]
web[01:03].example ansible_port=2201
db-[a:c] ansible_ssh_user="post gres" # comment
[feed:vars]
ansible_user=deploy
ansible_become_pass=hunter3
[prod:children]
feed
[prod:vars]
ansible_port=2200
[odd]
tpl ansible_host={{ inventory_hostname }}.example
"""

ANSIBLE_YAML = """
all:
  vars: {ansible_user: root}
  hosts:
    lonely:
  children:
    feed:
      hosts:
        web[1:2]: {ansible_host: 10.1.1.1, ansible_port: 2222}
        db: {ansible_user: postgres, ansible_password: hunter2}
      children:
        inner:
          hosts: {deep: {}}
"""


def test_ansible_ini() -> None:
    results = {host.name: host for host in ansible.parse_hosts(ANSIBLE_INI)}
    assert list(results)[:4] == ["lonely", "web01.example", "web02.example", "web03.example"]
    web = results["web01.example"]
    assert (web.port, web.username, web.labels) == (2201, "deploy", {"group": "feed"})
    assert (results["db-a"].port, results["db-a"].username) == (2200, "post gres")
    assert results["lonely"].labels == {} and results["tpl"].problem == "import.template"
    assert "hunter" not in str(results)


def test_ansible_yaml() -> None:
    results = {host.name: host for host in ansible.parse_hosts(ANSIBLE_YAML)}
    assert sorted(results) == ["db", "deep", "lonely", "web1", "web2"]
    assert results["web2"].port == 2222 and results["web2"].username == "root"
    assert results["db"].username == "postgres" and results["deep"].labels == {"group": "inner"}
    assert "hunter" not in str(results)


def test_yaml_bombs_are_refused() -> None:
    bomb = "a: &a [x,x]\n" + "".join(f"b{n}: &b{n} [*a,*a]\n" for n in range(9))
    deep = "all:\n  hosts: " + "[" * 5000
    nested = "all:\n" + "".join(
        "  " * (2 * n + 1) + "children:\n" + "  " * (2 * n + 2) + f"g{n}:\n" for n in range(40)
    )
    tagged = "---\na: !!python/object:os.system x"
    for text in ("---\n" + bomb, deep, nested, "---\n" + "a: b\n" * 100_000, tagged):
        begun = time.monotonic()
        with suppress(InvalidRequestError):
            assert ansible.parse_hosts(text) == []
        assert time.monotonic() - begun < 20


CSV = """\ufeffName;Address;Port;User;label.role;dc;fingerprint
# comment
web1;10.0.0.1;2222;root;feed;ix1;
"web;2";10.0.0.2;;;"a ""b"" c";;
;10.0.0.3;22;root;;;
bad;10.0.0.4;x;root;;;
long;10.0.0.5;22;root;;;;extra
"""


def test_csv() -> None:
    item, two, three, bad, long = csv_list.parse_hosts(CSV)
    assert (item.name, item.address, item.port, item.username) == ("web1", "10.0.0.1", 2222, "root")
    assert item.labels == {"role": "feed", "dc": "ix1"} and item.line == 3
    assert two.name == "web;2" and two.labels == {"role": 'a "b" c'} and two.port is None
    assert three.name == three.address == "10.0.0.3"
    assert bad.problem == "import.port_unreadable" and long.problem == "import.too_many_cells"


@pytest.mark.parametrize("text", ["", "a,b\n1,2", "x" * 100, ",".join("c" * 70) + "\n", 'name\n"open'])
def test_csv_without_sense(text: str) -> None:
    if text == "":
        assert csv_list.parse_hosts(text) == []
        return
    with pytest.raises(InvalidRequestError):
        csv_list.parse_hosts(text)


def test_known_hosts() -> None:
    good, other = blob(), blob("ssh-rsa", 9)
    text = f"""
web1,10.0.0.1 ssh-ed25519 {good} joe@laptop
web1 ssh-rsa {other}
[10.0.0.2]:2222 ssh-rsa {other}
|1|c2FsdA==|aGFzaA== ssh-ed25519 {good}
*.example ssh-ed25519 {good}
@revoked web9 ssh-ed25519 {good}
@cert-authority *.example ssh-ed25519 {good}
web3 ssh-dss {good}
web4 ssh-ed25519 AAAA
web5 ssh-rsa {good}
web6
[web7]:x ssh-ed25519 {good}
"""
    hosts = known_hosts.parse_hosts(text)
    problems = {host.line: host.problem for host in hosts if host.problem}
    assert problems == {
        5: "import.hashed_name", 6: "import.pattern", 7: "import.key_revoked", 8: "import.cert_authority",
        9: "import.key_kind", 10: "import.key_unreadable", 11: "import.key_unreadable",
        12: "import.line_unreadable", 13: "import.port_unreadable",
    }  # fmt: skip
    web1 = hosts[0]
    assert web1.name == "web1" and web1.host_key == f"ssh-ed25519 {good}"
    assert web1.fingerprint and web1.fingerprint.startswith("SHA256:")
    assert (hosts[1].address, hosts[1].port) == ("10.0.0.2", 2222)


HOSTILE = [
    "Host " + " ".join(f"h{n}" for n in range(5000)),
    "Host *\n" * 100_000,
    "Host " + "*a" * 2000 + "\nHost " + "a" * 4000,
    "\n".join(f"Host a{n} *{n}*" for n in range(5000)),
    "[" * 8000,
    "x[0:99999999]",
    "x" + "[0:99]" * 5,
    "[a:children]\na\n[a]\nx",
    "web ansible_host='unclosed",
    "all:\n  hosts:\n    - a\n    - b",
    "a" * 1_000_000,
    "\0",
    "name\n" + "x\n" * 5000,
    'name,address\n"' + "x\n" * 10_000,
    "\n".join(f"h{n} ssh-ed25519 {blob()}" for n in range(5000)),
    "@" * 5000,
    "\u202egpj.exe",
    "﻿",
    "-oProxyCommand=id ansible_host=$(id)",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__module__.rsplit(".", 1)[-1])
def test_hostile_lists_are_bounded(read, text: str) -> None:
    begun = time.monotonic()
    try:
        assert len(read(text)) <= MAX_ROWS
    except InvalidRequestError as refused:
        assert refused.key.startswith("import.")
    assert time.monotonic() - begun < 20  # seconds would do; the machine is shared


WORDS = ["Host", "Port", "*", "!", "[a:vars]", ":children", "=", ",", '"', "'", "x", "22", "\n", "-", ":"]
WORDS += ["{}", "#", "|1|", "@revoked"]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400) | st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in READERS:
        with suppress(InvalidRequestError):
            for item in read(text):
                assert item.port is None or 1 <= item.port <= 65535
