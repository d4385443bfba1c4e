"""From numbers to findings to causes. Pure: a `View` of what came home in, findings and ranked causes out.

    view → measures (`measures/`) → rules (`catalog/`) → findings → causes (`causes.py`) → ranking (`rank.py`)

A threshold stands in exactly one place: the rule that uses it. Every number carries the place in an artifact
that it was read from, and a rule whose input is missing says so instead of saying nothing.
"""
