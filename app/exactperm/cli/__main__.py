"""`python -m exactperm.cli`, the program `exactperm`."""

from __future__ import annotations

from .commands import main

if __name__ == "__main__":
    main()
