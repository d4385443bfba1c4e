"""The shell that acts inside a target: it runs `runner/scripts/enter_target.py` with the host's own Python and
nothing else.

Never execute a file that the target controls, and never open one with more rights than the target has.
"""

from __future__ import annotations

from importlib.resources import files

#: The remedy of a method where no Python can be used.
PYTHON_REMEDY = "python3 3.6 or later in /usr/bin (dnf install python3, apt-get install python3)"


def _build_program() -> str:
    """The helper without comment lines and docstrings, but for those that are all of their class."""
    source = (files("collectors") / "runner" / "scripts" / "enter_target.py").read_text(encoding="ascii")
    body = source.partition('"""\n')[2]
    lines = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    kept = [
        line for line, after in zip(lines, [*lines[1:], ""], strict=True) if not _is_docstring(line, after)
    ]
    return "\n".join(kept)


def _is_docstring(line: str, after: str) -> bool:
    text = line.strip()
    indent = line[: -len(text)]
    whole = text.startswith('"""') and text.endswith('"""') and len(text) > 6
    return whole and after.startswith(indent) and not after[len(indent) :].startswith(" ")


#: Defines `enter_target MODE WHAT MAX_BYTES SECONDS REST...`. The Python is one of the host's, at a fixed path that
#: only root can write to, and takes nothing from the environment.
ENTER = (
    r"""
python=
for c in /usr/bin/python3 /usr/libexec/platform-python; do
  [ -z "$python" ] && [ -x "$c" ] || continue
  case $(ls -lnL "$c" 2>/dev/null | awk 'substr($1, 6, 1) != "w" && substr($1, 9, 1) != "w" { print $3 }') in
    0) python=$c ;;
  esac
done
enter_target() {
[ -n "$python" ] || { echo "no Python of root's in /usr/bin: install python3" >&2; return 69; }
env -i LC_ALL=C PATH=/usr/bin:/bin "$python" -I -S -B - "$@" <<'PYTHON'
"""
    + _build_program()
    + """
PYTHON
}
"""
)

#: Sets `$low`: the prefix of a tool that reads what a target controls and needs no right of root. It runs as `nobody`,
#: without capabilities. Empty where the run has no such rights, or where setpriv cannot drop them.
LOW = r"""
low=
if [ "$(id -u)" = 0 ]; then
  low='setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all'
  $low true > /dev/null 2>&1 || low=
fi
"""
