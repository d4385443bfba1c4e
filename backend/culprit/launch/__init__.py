"""The supervisor behind `./culprit up`: fetches, starts, watches and stops processes.

Standard library only, a stranger to everything else in the product: it knows other parts by the command that
starts them and nothing more.
"""
