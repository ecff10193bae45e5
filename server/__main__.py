"""`python -m server`: the command line."""

from server.cli import main

if __name__ == "__main__":
    main()
