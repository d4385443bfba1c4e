"""Hosts to capture from: real sshd processes on this machine, each with its own keys, /run and /var/tmp."""
