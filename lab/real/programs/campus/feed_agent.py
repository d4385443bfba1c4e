"""An agent of a security department: keeps a chain of the firewall equal to a list of ranges of addresses.

The list is a file with a range ("203.0.113.4-203.0.113.90") a line, which is read again when it changes.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path


def apply_ranges(chain: str, interface: str, ranges: list[str], *, is_new: bool) -> None:
    """Replace the rules of the chain. is_new: the chain does not exist yet, nor the rule that leads there."""
    lines = ["*filter", f":{chain} - [0:0]"]
    if is_new:
        lines.append(f"-I INPUT -i {interface} -j {chain}")
    lines += [f"-A {chain} -m iprange --src-range {addresses} -j DROP" for addresses in ranges]
    text = "\n".join([*lines, f"-A {chain} -j RETURN", "COMMIT", ""])
    subprocess.run(["iptables-restore", "--noflush"], input=text, text=True, check=True, timeout=60)
    print(f"{len(ranges)} ranges in {chain}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chain", required=True)
    parser.add_argument("--interface", default="eth0")
    parser.add_argument("--list", required=True, type=Path)
    options = parser.parse_args()
    changed_at, is_new = 0, True
    while True:
        if (now := options.list.stat().st_mtime_ns) != changed_at:
            ranges = options.list.read_text().split()
            apply_ranges(options.chain, options.interface, ranges, is_new=is_new)
            changed_at, is_new = now, False
        time.sleep(1.0)


if __name__ == "__main__":
    main()
