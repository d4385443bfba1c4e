"""CPU time of an interpreter in its own compiler: code that is in use already is compiled again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.shares import read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

PROGRAM = "php-fpm"
#: Scanner, parser, compiler and optimizer of PHP (Zend/zend_language_scanner.l, zend_compile.c, Optimizer/). Without
#: a cache, every request runs them for each file that it includes.
COMPILER = (
    r"^(zendparse|zendlex|lex_scan|compile_file|zend_compile_[a-z_]+|zend_ast_[a-z_]+|zend_emit_[a-z_]+|pass_two"
    r"|zend_optimize[a-z_]*|zend_dfa_[a-z_]+|zend_vm_set_opcode_handler|persistent_compile_file)$"
)


def _compiler_share(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the busy CPU samples of a PHP service that are in the compiler."""
    del times
    stacks = view.stacks.get("on_cpu")
    if stacks is not None and account.service.name.startswith(PROGRAM):
        pids = sorted(int(pid) for pid in account.service.pids)
        item = stacks.share(COMPILER, pids, subject=account.service.subject)
        if item.sample_count:
            yield replace(item, citations=(*item.citations, *account.sources))


COMPILER_SHARE = Measure(
    "php.compiler_pct",
    "pct",
    Text("CPU in the compiler of PHP", "PHP 编译器 CPU 占比"),
    (("perf_record",), ("proc_threads",)),
    read_accounts(_compiler_share),
)
