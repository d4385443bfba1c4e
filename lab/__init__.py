"""Hosts to capture from: real sshd processes on this machine, each with its own keys, /run and /var/tmp.

hosts.py starts them; environment.py gives one a network, control groups and clients, guest.py a kernel of its own;
faults/ injects a fault.
"""
