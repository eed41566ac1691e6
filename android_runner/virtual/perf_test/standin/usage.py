"""The usage text of `onnxruntime_perf_test` 1.21.0, byte for byte: what probes of a binary read.

From ONNX Runtime's `test/perftest/command_args_parser.cc`, MIT licence, Copyright (c) Microsoft Corporation.
"""
# ruff: noqa: E501

from __future__ import annotations

USAGE_1_21 = """\
perf_test [options...] model_path [result_file]
Options:
\t-m [test_mode]: Specifies the test mode. Value could be 'duration' or 'times'.
\t\tProvide 'duration' to run the test for a fix duration, and 'times' to repeated for a certain times.\x20
\t-M: Disable memory pattern.
\t-A: Disable memory arena
\t-I: Generate tensor input binding. Free dimensions are treated as 1 unless overridden using -f.
\t-c [parallel runs]: Specifies the (max) number of runs to invoke simultaneously. Default:1.
\t-e [cpu|cuda|dnnl|tensorrt|openvino|dml|acl|nnapi|coreml|qnn|snpe|rocm|migraphx|xnnpack|vitisai|webgpu]: Specifies the provider 'cpu','cuda','dnnl','tensorrt', 'openvino', 'dml', 'acl', 'nnapi', 'coreml', 'qnn', 'snpe', 'rocm', 'migraphx', 'xnnpack', 'vitisai' or 'webgpu'. Default:'cpu'.
\t-b [tf|ort]: backend to use. Default:ort
\t-r [repeated_times]: Specifies the repeated times if running in 'times' test mode.Default:1000.
\t-t [seconds_to_run]: Specifies the seconds to run for 'duration' mode. Default:600.
\t-p [profile_file]: Specifies the profile name to enable profiling and dump the profile data to the file.
\t-s: Show statistics result, like P75, P90. If no result_file provided this defaults to on.
\t-S: Given random seed, to produce the same input data. This defaults to -1(no initialize).
\t-v: Show verbose information.
\t-x [intra_op_num_threads]: Sets the number of threads used to parallelize the execution within nodes, A value of 0 means ORT will pick a default. Must >=0.
\t-y [inter_op_num_threads]: Sets the number of threads used to parallelize the execution of the graph (across nodes), A value of 0 means ORT will pick a default. Must >=0.
\t-f [free_dimension_override]: Specifies a free dimension by name to override to a specific value for performance optimization. Syntax is [dimension_name:override_value]. override_value must > 0
\t-F [free_dimension_override]: Specifies a free dimension by denotation to override to a specific value for performance optimization. Syntax is [dimension_denotation:override_value]. override_value must > 0
\t-P: Use parallel executor instead of sequential executor.
\t-o [optimization level]: Default is 99 (all). Valid values are 0 (disable), 1 (basic), 2 (extended), 99 (all).
\t\tPlease see onnxruntime_c_api.h (enum GraphOptimizationLevel) for the full list of all optimization levels.
\t-u [optimized_model_path]: Specify the optimized model path for saving.
\t-d [CUDA only][cudnn_conv_algorithm]: Specify CUDNN convolution algorithms: 0(benchmark), 1(heuristic), 2(default).\x20
\t-q [CUDA only] use separate stream for copy.\x20
\t-z: Set denormal as zero. When turning on this option reduces latency dramatically, a model may have denormals.
\t-C: Specify session configuration entries as key-value pairs: -C "<key1>|<value1> <key2>|<value2>"\x20
\t    Refer to onnxruntime_session_options_config_keys.h for valid keys and values.\x20
\t    [Example] -C "session.disable_cpu_ep_fallback|1 ep.context_enable|1"\x20
\t-i: Specify EP specific runtime options as key value pairs. Different runtime options available are:\x20
\t    [Usage]: -e <provider_name> -i '<key1>|<value1> <key2>|<value2>'

\t    [ACL only] [enable_fast_math]: Options: 'true', 'false', default: 'false',\x20
\t    [DML only] [performance_preference]: DML device performance preference, options: 'default', 'minimum_power', 'high_performance',\x20
\t    [DML only] [device_filter]: DML device filter, options: 'any', 'gpu', 'npu',\x20
\t    [DML only] [disable_metacommands]: Options: 'true', 'false',\x20
\t    [DML only] [enable_graph_capture]: Options: 'true', 'false',\x20
\t    [DML only] [enable_graph_serialization]: Options: 'true', 'false',\x20

\t    [OpenVINO only] [device_type]: Overrides the accelerator hardware type and precision with these values at runtime.
\t    [OpenVINO only] [device_id]: Selects a particular hardware device for inference.
\t    [OpenVINO only] [num_of_threads]: Overrides the accelerator hardware type and precision with these values at runtime.
\t    [OpenVINO only] [cache_dir]: Explicitly specify the path to dump and load the blobs(Model caching) or cl_cache (Kernel Caching) files feature. If blob files are already present, it will be directly loaded.
\t    [OpenVINO only] [enable_opencl_throttling]: Enables OpenCL queue throttling for GPU device(Reduces the CPU Utilization while using GPU)\x20
\t    [Example] [For OpenVINO EP] -e openvino -i "device_type|CPU num_of_threads|5 enable_opencl_throttling|true cache_dir|"<path>""

\t    [QNN only] [backend_path]: QNN backend path. e.g '/folderpath/libQnnHtp.so', '/folderpath/libQnnCpu.so'.
\t    [QNN only] [profiling_level]: QNN profiling level, options: 'basic', 'detailed', default 'off'.
\t    [profiling_file_path] : QNN profiling file path if ETW not enabled.
\t    [QNN only] [rpc_control_latency]: QNN rpc control latency. default to 10.
\t    [QNN only] [vtcm_mb]: QNN VTCM size in MB. default to 0(not set).
\t    [QNN only] [htp_performance_mode]: QNN performance mode, options: 'burst', 'balanced', 'default', 'high_performance',\x20
\t    'high_power_saver', 'low_balanced', 'extreme_power_saver', 'low_power_saver', 'power_saver', 'sustained_high_performance'. Default to 'default'.\x20
\t    [QNN only] [qnn_context_priority]: QNN context priority, options: 'low', 'normal', 'normal_high', 'high'. Default to 'normal'.\x20
\t    [QNN only] [qnn_saver_path]: QNN Saver backend path. e.g '/folderpath/libQnnSaver.so'.
\t    [QNN only] [htp_graph_finalization_optimization_mode]: QNN graph finalization optimization mode, options:\x20
\t    '0', '1', '2', '3', default is '0'.
\t    [QNN only] [soc_model]: The SoC Model number. Refer to QNN SDK documentation for specific values. Defaults to '0' (unknown).\x20
\t    [QNN only] [htp_arch]: The minimum HTP architecture. The driver will use ops compatible with this architecture.\x20
\t    Options are '0', '68', '69', '73', '75'. Defaults to '0' (none).\x20
\t    [QNN only] [device_id]: The ID of the device to use when setting 'htp_arch'. Defaults to '0' (for single device).\x20
\t    [QNN only] [enable_htp_fp16_precision]: Enable the HTP_FP16 precision so that the float32 model will be inferenced with fp16 precision.\x20
\t    Otherwise, it will be fp32 precision. Works for float32 model for HTP backend. Defaults to '1' (with FP16 precision.).\x20
\t    [QNN only] [offload_graph_io_quantization]: Offload graph input quantization and graph output dequantization to another EP (typically CPU EP).\x20
\t    Defaults to '0' (QNN EP handles the graph I/O quantization and dequantization).\x20
\t    [QNN only] [enable_htp_spill_fill_buffer]: Enable HTP spill fill buffer, used while generating QNN context binary.
\t    [QNN only] [enable_htp_shared_memory_allocator]: Enable the QNN HTP shared memory allocator and use it for inputs and outputs. Requires libcdsprpc.so/dll to be available.
\t    Defaults to '0' (disabled).
\t    [Example] [For QNN EP] -e qnn -i "backend_path|/folderpath/libQnnCpu.so"\x20

\t    [TensorRT only] [trt_max_partition_iterations]: Maximum iterations for TensorRT parser to get capability.
\t    [TensorRT only] [trt_min_subgraph_size]: Minimum size of TensorRT subgraphs.
\t    [TensorRT only] [trt_max_workspace_size]: Set TensorRT maximum workspace size in byte.
\t    [TensorRT only] [trt_fp16_enable]: Enable TensorRT FP16 precision.
\t    [TensorRT only] [trt_int8_enable]: Enable TensorRT INT8 precision.
\t    [TensorRT only] [trt_int8_calibration_table_name]: Specify INT8 calibration table name.
\t    [TensorRT only] [trt_int8_use_native_calibration_table]: Use Native TensorRT calibration table.
\t    [TensorRT only] [trt_dla_enable]: Enable DLA in Jetson device.
\t    [TensorRT only] [trt_dla_core]: DLA core number.
\t    [TensorRT only] [trt_dump_subgraphs]: Dump TRT subgraph to onnx model.
\t    [TensorRT only] [trt_engine_cache_enable]: Enable engine caching.
\t    [TensorRT only] [trt_engine_cache_path]: Specify engine cache path.
\t    [TensorRT only] [trt_engine_cache_prefix]: Customize engine cache prefix when trt_engine_cache_enable is true.
\t    [TensorRT only] [trt_engine_hw_compatible]: Enable hardware compatibility. Engines ending with '_sm80+' can be re-used across all Ampere+ GPU (a hardware-compatible engine may have lower throughput and/or higher latency than its non-hardware-compatible counterpart).
\t    [TensorRT only] [trt_weight_stripped_engine_enable]: Enable weight-stripped engine build.
\t    [TensorRT only] [trt_onnx_model_folder_path]: Folder path for the ONNX model with weights.
\t    [TensorRT only] [trt_force_sequential_engine_build]: Force TensorRT engines to be built sequentially.
\t    [TensorRT only] [trt_context_memory_sharing_enable]: Enable TensorRT context memory sharing between subgraphs.
\t    [TensorRT only] [trt_layer_norm_fp32_fallback]: Force Pow + Reduce ops in layer norm to run in FP32 to avoid overflow.
\t    [Example] [For TensorRT EP] -e tensorrt -i 'trt_fp16_enable|true trt_int8_enable|true trt_int8_calibration_table_name|calibration.flatbuffers trt_int8_use_native_calibration_table|false trt_force_sequential_engine_build|false'

\t    [NNAPI only] [NNAPI_FLAG_USE_FP16]: Use fp16 relaxation in NNAPI EP..
\t    [NNAPI only] [NNAPI_FLAG_USE_NCHW]: Use the NCHW layout in NNAPI EP.
\t    [NNAPI only] [NNAPI_FLAG_CPU_DISABLED]: Prevent NNAPI from using CPU devices.
\t    [NNAPI only] [NNAPI_FLAG_CPU_ONLY]: Using CPU only in NNAPI EP.
\t    [Example] [For NNAPI EP] -e nnapi -i "NNAPI_FLAG_USE_FP16 NNAPI_FLAG_USE_NCHW NNAPI_FLAG_CPU_DISABLED"

\t    [CoreML only] [ModelFormat]:[MLProgram, NeuralNetwork] Create an ML Program model or Neural Network. Default is NeuralNetwork.
\t    [CoreML only] [MLComputeUnits]:[CPUAndNeuralEngine CPUAndGPU ALL CPUOnly] Specify to limit the backend device used to run the model.
\t    [CoreML only] [AllowStaticInputShapes]:[0 1].
\t    [CoreML only] [EnableOnSubgraphs]:[0 1].
\t    [CoreML only] [SpecializationStrategy]:[Default FastPrediction].
\t    [CoreML only] [ProfileComputePlan]:[0 1].
\t    [CoreML only] [AllowLowPrecisionAccumulationOnGPU]:[0 1].
\t    [CoreML only] [ModelCacheDirectory]:[path../a/b/c].
\t    [Example] [For CoreML EP] -e coreml -i "ModelFormat|MLProgram MLComputeUnits|CPUAndGPU"

\t    [SNPE only] [runtime]: SNPE runtime, options: 'CPU', 'GPU', 'GPU_FLOAT16', 'DSP', 'AIP_FIXED_TF'.\x20
\t    [SNPE only] [priority]: execution priority, options: 'low', 'normal'.\x20
\t    [SNPE only] [buffer_type]: options: 'TF8', 'TF16', 'UINT8', 'FLOAT', 'ITENSOR'. default: ITENSOR'.\x20
\t    [SNPE only] [enable_init_cache]: enable SNPE init caching feature, set to 1 to enabled it. Disabled by default.\x20
\t    [Example] [For SNPE EP] -e snpe -i "runtime|CPU priority|low"\x20


\t-T [Set intra op thread affinities]: Specify intra op thread affinity string
\t [Example]: -T 1,2;3,4;5,6 or -T 1-2;3-4;5-6\x20
\t\t Use semicolon to separate configuration between threads.
\t\t E.g. 1,2;3,4;5,6 specifies affinities for three threads, the first thread will be attached to the first and second logical processor.
\t\t The number of affinities must be equal to intra_op_num_threads - 1

\t-D [Disable thread spinning]: disable spinning entirely for thread owned by onnxruntime intra-op thread pool.
\t-Z [Force thread to stop spinning between runs]: disallow thread from spinning during runs to reduce cpu usage.
\t-n [Exit after session creation]: allow user to measure session creation time to measure impact of enabling any initialization optimizations.
\t-l Provide file as binary in memory by using fopen before session creation.
\t-R [Register custom op]: allow user to register custom op by .so or .dll file.
\t-h: help
"""
