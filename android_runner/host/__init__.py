"""The computer that the phones hang on: its USB tree, its kernel's log, who listens, and what is wrong with it."""
