"""SSH connections, key formats and the execution of commands."""
