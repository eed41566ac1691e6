"""The program inside the stand-in: onnxruntime's C API driven through ctypes, dressed as `onnxruntime_perf_test`.

Its modules import only each other and those parts of the standard library that start fast: start-up is paid by every
trial. `android_runner.virtual.perf_test.build` packs them into one executable file.
"""
