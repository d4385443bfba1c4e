"""Hardware and clock."""

from __future__ import annotations

from collectors.contract import Text
from collectors.metric_rows.row import Lane, Metric

ROWS: tuple[Metric, ...] = (
    Metric(
        "platform.cpu_freq_mhz",
        "mhz",
        "gauge",
        (),
        "cpu",
        Text("CPU clock rate", "CPU 频率"),
        Text(
            "What each CPU runs at, as cpufreq or /proc/cpuinfo says.",
            "各 CPU 的运行频率（cpufreq 或 /proc/cpuinfo）。",
        ),
        Lane("platform", 2100, "heatmap"),
    ),
    Metric(
        "platform.thermal_throttles_per_s",
        "per_s",
        "counter",
        (),
        None,
        Text("Thermal throttling", "过热降频"),
        Text(
            "How often a second cores and packages were slowed down by heat.",
            "每秒因过热而降频的次数（核与封装合计）。",
        ),
        Lane("platform", 2101, "line"),
    ),
)
