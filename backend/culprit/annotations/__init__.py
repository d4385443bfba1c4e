"""What people and pipelines tell: deploys, changes of configuration, notes, on the timelines of hosts."""
