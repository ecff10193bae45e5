"""What each command of the command line does; `cli.py` names them, their options and their help."""
