"""Hosts to capture from: real sshd processes on this machine, each with its own keys, /run and /var/tmp.

hosts.py starts them; site.py gives one a network, control groups and clients; faults/ makes it sick.
"""
