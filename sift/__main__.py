"""Run the command line as `python -m sift`."""

from __future__ import annotations

from sift.cli import main

if __name__ == "__main__":
    main()
