"""The ledger (SQLAlchemy Core), the evidence files, and both as tidy pandas frames."""
