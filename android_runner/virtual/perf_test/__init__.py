"""The stand-in for `onnxruntime_perf_test` that virtual phones run when no true one is given.

`build` makes the executable and finds onnxruntime's shared library; `standin` is the program itself, which runs in a
process of its own on the phone and imports nothing from outside its package but the standard library.
"""
