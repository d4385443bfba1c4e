"""The evidence chain: hypotheses, steps, verdicts, pins, waivers, fixes and the autopilot."""
