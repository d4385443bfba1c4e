"""Faults that rules may be improved by."""

#: Scenarios with an access log, and a fault that can be removed and put in place again while the load goes on.
REPAIRABLE = (
    "dns-failing", "dns-slow", "io-throttled-by-cgroup", "jvm-thread-pool", "link-saturated", "missing-index",
    "postgres-max-connections", "regex-backtracking", "scheduled-job-disk", "slow-http-dependency",
)  # fmt: skip
