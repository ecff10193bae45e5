"""`rankcast rebuild`: a season's board anew from PostgreSQL, with its progress."""
