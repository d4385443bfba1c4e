"""Adapters to the outside: tables, database, broker, SSH, artifact store, network, sandbox.

It holds no rule of the domain and imports no feature.
"""
