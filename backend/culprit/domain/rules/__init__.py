"""From numbers to findings to causes. Pure: views in, findings and ranked causes out.

view → measures (`measures/`) → rules (`catalog/`) → findings → causes (`causes/`) → ranking (`rank.py`)

A threshold is defined only in the rule that uses it. Every number has a source in an artifact. A rule without
input returns the reason.
"""
