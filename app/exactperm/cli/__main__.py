"""`python -m exactperm.cli`: what `.venv/bin/exactperm` runs."""

from __future__ import annotations

from .commands import main

if __name__ == "__main__":
    main()
