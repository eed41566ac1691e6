"""Pure: two runs side by side, or two settings of one: what may be said of each case, and what else differs."""
