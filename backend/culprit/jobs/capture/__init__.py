"""Jobs that connect to hosts: run a capture or a preflight check over SSH, and store what the session returned."""
