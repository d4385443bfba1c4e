"""Database sessions, the unit of work, admission of requests, locks, clock and UUIDv7."""
