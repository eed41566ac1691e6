"""Virtual phones that get hot: one model of heat, clocks and battery for experiments, for tests and for the phones.

`model` is the physics, pure; `scenario` reads what a phone's nature may be, `nature` draws one from it; `bursts` and
`sensors` are what others do on the phone and what its sensors say; `simulated` is a phone in simulated time.
"""
