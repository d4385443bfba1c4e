"""Scheduler events of a run: run times, waits for a CPU, and wake-ups."""
