"""Load, lock and change incidents, and record each change in the journal."""
