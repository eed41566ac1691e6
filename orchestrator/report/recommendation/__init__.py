"""Pure: what a run recommends: the best setting for each phone and model, why, how surely; and one for all phones."""
