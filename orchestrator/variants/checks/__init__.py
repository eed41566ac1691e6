"""Pure: what is wrong with a model, from facts that `orchestrator.variants.facts_of_model` reads."""
