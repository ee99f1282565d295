"""`python -m relserve`: the command line."""

from relserve.cli.main import main

if __name__ == "__main__":
    main()
