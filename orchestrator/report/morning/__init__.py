"""The morning digest: what a night left for people, on one page. Pure; `orchestrator.app.morning` gathers for it."""
