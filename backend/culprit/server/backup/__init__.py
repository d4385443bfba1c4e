"""Back up a platform as one verified file, and restore it: `python -m culprit.server.backup`."""
