"""One phone, now: reach it, stage files on it, run a block of trials there, read what came back.

Knows nothing of plans, ledgers or other phones; `orchestrator` builds on it and is never imported here.
"""
