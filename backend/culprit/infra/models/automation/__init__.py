"""Tables of triggers, alerts, schedules, maintenance windows, watchers and kill switches."""
