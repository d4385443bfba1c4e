"""Scripts as they travel: all of a plan go to a host in one argument, so indentation stays at home."""

from __future__ import annotations


def strip_indent(sh: str) -> str:
    """The script without indentation and empty lines. Not for scripts with here-documents or indented data."""
    lines = (line.strip(" ") for line in sh.splitlines())
    return "\n".join(line for line in lines if line) + "\n"
