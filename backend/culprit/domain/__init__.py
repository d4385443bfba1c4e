"""Pure logic, one subject per package: data in, data out, without a clock and without I/O.

It imports `collectors` and no other package of the server.
"""
