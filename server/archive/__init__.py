"""PostgreSQL, the truth: every record once, totals, how far persist has read, seasons and names."""
