"""Jobs that send notifications and Grafana annotations, and fetch on-call calendars."""
