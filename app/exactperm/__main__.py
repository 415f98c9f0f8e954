"""`python -m exactperm` serves, as the image and `make serve` do; with arguments it is the command line."""

from __future__ import annotations

import sys

from .cli.commands import main

if __name__ == "__main__":
    main(sys.argv[1:] or ["serve"])
