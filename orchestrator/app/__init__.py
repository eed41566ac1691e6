"""The composition root: puts phones, binary, variants, plan, farm and report together. Decisions live elsewhere."""
