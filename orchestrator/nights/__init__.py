"""The nightly's own subject: what a series' nights say, what changed, which alerts stand. Pure but for its callers."""
