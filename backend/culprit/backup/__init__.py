"""A platform as one checked file, and back: `python -m culprit.backup`, behind `./culprit backup` and `restore`."""
