"""What runs on hosts, and how its output is read. Pure: no network, no database, no clock of its own."""
