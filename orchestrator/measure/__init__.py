"""Pure: what may be said from rounds. Intervals that keep their coverage, and when a case has rounds enough."""
