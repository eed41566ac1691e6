"""The usage text of `onnxruntime_perf_test` 1.8, byte for byte: what probes of a binary read.

From ONNX Runtime's `test/perftest/command_args_parser.cc`, MIT licence, Copyright (c) Microsoft Corporation.
"""
# ruff: noqa: E501

from __future__ import annotations

USAGE_1_8 = """\
perf_test [options...] model_path [result_file]
Options:
\t-m [test_mode]: Specifies the test mode. Value could be 'duration' or 'times'.
\t\tProvide 'duration' to run the test for a fix duration, and 'times' to repeated for a certain times.\x20
\t-M: Disable memory pattern.
\t-A: Disable memory arena
\t-I: Generate tensor input binding (Free dimensions are treated as 1.)
\t-c [parallel runs]: Specifies the (max) number of runs to invoke simultaneously. Default:1.
\t-e [cpu|cuda|dnnl|tensorrt|openvino|nuphar|dml|acl]: Specifies the provider 'cpu','cuda','dnnl','tensorrt', 'openvino', 'nuphar', 'dml', 'acl', 'nnapi' or 'coreml'. Default:'cpu'.
\t-b [tf|ort]: backend to use. Default:ort
\t-r [repeated_times]: Specifies the repeated times if running in 'times' test mode.Default:1000.
\t-t [seconds_to_run]: Specifies the seconds to run for 'duration' mode. Default:600.
\t-p [profile_file]: Specifies the profile name to enable profiling and dump the profile data to the file.
\t-s: Show statistics result, like P75, P90. If no result_file provided this defaults to on.
\t-v: Show verbose information.
\t-x [intra_op_num_threads]: Sets the number of threads used to parallelize the execution within nodes, A value of 0 means ORT will pick a default. Must >=0.
\t-y [inter_op_num_threads]: Sets the number of threads used to parallelize the execution of the graph (across nodes), A value of 0 means ORT will pick a default. Must >=0.
\t-f [free_dimension_override]: Specifies a free dimension by name to override to a specific value for performance optimization. Syntax is [dimension_name:override_value]. override_value must > 0
\t-F [free_dimension_override]: Specifies a free dimension by denotation to override to a specific value for performance optimization. Syntax is [dimension_denotation:override_value]. override_value must > 0
\t-P: Use parallel executor instead of sequential executor.
\t-o [optimization level]: Default is 1. Valid values are 0 (disable), 1 (basic), 2 (extended), 99 (all).
\t\tPlease see onnxruntime_c_api.h (enum GraphOptimizationLevel) for the full list of all optimization levels.
\t-u [optimized_model_path]: Specify the optimized model path for saving.
\t-d [cudnn_conv_algorithm]: Specify CUDNN convolution algothrithms: 0(benchmark), 1(heuristic), 2(default).\x20
\t-q: [CUDA only] use separate stream for copy.\x20
\t-z: Set denormal as zero. When turning on this option reduces latency dramatically, a model may have denormals.
\t-i: Specify EP specific runtime options as key value pairs. Different runtime options available are:\x20
\t    [OpenVINO only] [device_type]: Overrides the accelerator hardware type and precision with these values at runtime.
\t    [OpenVINO only] [device_id]: Selects a particular hardware device for inference.
\t    [OpenVINO only] [enable_vpu_fast_compile]: Optionally enabled to speeds up the model's compilation on VPU device targets.
\t    [OpenVINO only] [num_of_threads]: Overrides the accelerator hardware type and precision with these values at runtime.
\t    [OpenVINO only] [use_compiled_network]: Can be enabled to directly import pre-compiled blobs if exists. currently this feature is only supported on MyriadX(VPU) hardware device target.
\t    [OpenVINO only] [blob_dump_path]: Explicitly specify the path where you would like to dump and load the blobs for the use_compiled_network(save/load blob) feature. This overrides the default path.
\t [Usage]: -e <provider_name> -i '<key1>|<value1> <key2>|<value2>'

\t [Example] [For OpenVINO EP] -e openvino -i "device_type|CPU_FP32 enable_vpu_fast_compile|true num_of_threads|5 use_compiled_network|true blob_dump_path|"<path>""
\t    [TensorRT only] [use_trt_options]: Overrides TensorRT environment variables (if any) with following settings at runtime.
\t    [TensorRT only] [trt_max_workspace_size]: Set TensorRT maximum workspace size in byte.
\t    [TensorRT only] [trt_fp16_enable]: Enable TensorRT FP16 precision.
\t    [TensorRT only] [trt_int8_enable]: Enable TensorRT INT8 precision.
\t    [TensorRT only] [trt_int8_calibration_table_name]: Specify INT8 calibration table name.
\t    [TensorRT only] [trt_int8_use_native_calibration_table]: Use Native TensorRT calibration table.
\t [Usage]: -e <provider_name> -i '<key1>|<value1> <key2>|<value2>'

\t [Example] [For TensorRT EP] -e tensorrt -i 'use_trt_options|true trt_fp16_enable|true trt_int8_enable|true trt_int8_calibration_table_name|calibration.flatbuffers trt_int8_use_native_calibration_table|false'
\t-h: help
"""
