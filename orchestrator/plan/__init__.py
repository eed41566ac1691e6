"""Pure: which cases a plan asks for, which of them make sense on a phone, and in what order they run."""
