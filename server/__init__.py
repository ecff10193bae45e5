"""Rankcast: a leaderboard server that pushes."""

__version__ = "0.1.0"
