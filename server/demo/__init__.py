"""The demo season: football since 1872, played as if it happened now."""
