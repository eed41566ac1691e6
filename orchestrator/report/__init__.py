"""What the numbers mean: statistics, tables, the summary, and its renderings."""
