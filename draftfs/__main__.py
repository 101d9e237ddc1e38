"""`python -m draftfs`: the same as the command."""

from draftfs.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
