"""Jobs of the scheduler and of maintenance: sweep, due schedules, retention, storage check, heartbeats."""
