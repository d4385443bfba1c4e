"""Profiles of other tools: pprof, speedscope, Trace Event Format, .cpuprofile, Firefox Profiler, bpftrace."""
