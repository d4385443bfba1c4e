"""Check an installation: its settings, files, database, queue, store and processes."""
