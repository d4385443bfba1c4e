"""Names of the recording machine do not reach the corpus."""

from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.accuracy.corpus import StoredRun
from bench.accuracy.corpus_redaction import list_private_names, redact_bytes, redact_run


def test_names_are_replaced_as_whole_words_the_longest_first() -> None:
    names = {"/home/ann": "/home/operator", "/home/ann/culprit": "/srv/culprit", "node": "machine"}
    text = b"/home/ann/culprit/x /home/ann/y nodes node"
    assert redact_bytes(text, names) == b"/srv/culprit/x /home/operator/y nodes machine"


def test_temporary_folders_lose_their_names_and_those_of_the_lab_keep_them() -> None:
    assert redact_bytes(b"/tmp/secret-4711/a /tmp/lab-web/b", {}) == b"/tmp/file/a /tmp/lab-web/b"


def test_names_of_this_machine_include_repository_and_home() -> None:
    names = list_private_names()
    assert names[str(ROOT)] == "/srv/culprit"
    assert names[str(Path.home())] == "/home/operator"


def test_binary_parts_are_left_out() -> None:
    run = StoredRun(
        {}, {"perf_record": {"perf.data": b"PERFILE2\0\0", "stdout": b"text"}, "raw": {"x": b"\0"}}
    )
    assert redact_run(run, {}).parts == {"perf_record": {"stdout": b"text"}}


def test_identifiers_and_the_command_line_of_the_kernel_are_removed() -> None:
    text = b"0::/session/43364340d6ee6599f091a0c275e0ef22\nKernel command line: root=/dev/vda secret=1\nnext"
    assert redact_bytes(text, {}) == b"0::/session/" + b"0" * 32 + b"\nKernel command line: removed\nnext"
