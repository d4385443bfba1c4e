"""`python -m culprit.cli`, which `./culprit` calls for everything but up, down and test."""

from __future__ import annotations

import sys

from culprit.cli.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
