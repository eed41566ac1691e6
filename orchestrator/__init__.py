"""Many phones, many trials, over time: variants, plans, the farm, the ledger and the report."""

__version__ = "0.1.0"
