"""The virtual phone's NNAPI: in a process of its own makes the graph in which what is claimed runs apart on the CPU.

`prepare` is the process; the stand-in for perf_test starts it and loads what it leaves. Only this package of
`android_runner` imports onnx, onnxruntime and numpy.
"""
