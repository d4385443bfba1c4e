"""Parsers of perf, ftrace and strace output."""
