"""What the server can process: parsers, queries, stored data, schedules and viewers."""
