"""Entry point `python -m culprit.cli`:

the script `culprit` calls it for all commands except those of the launcher.
"""

from __future__ import annotations

import sys

from culprit.cli.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
