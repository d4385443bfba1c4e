"""Due times of cron fields, maintenance windows and on-call rotations on a wall clock."""
