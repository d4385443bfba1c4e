"""Figures: each module measures one promise and prints its table; run with `python -m bench.<name>`."""
