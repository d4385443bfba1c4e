"""Launcher behind `./culprit up`: install, start, supervise and stop processes.

It uses the standard library only and imports nothing else of the product. It knows other parts by the
commands that start them.
"""
