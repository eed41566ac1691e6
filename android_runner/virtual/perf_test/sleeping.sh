#!/bin/sh
# Looks like onnxruntime_perf_test 1.21, sleeps instead of computing: for tests of what is around a measurement.
# Starts one process, the sleep; everything else is the shell's own.
SLEEP_S=1
usage() {
  echo 'USAGE'
  exit 255
}
repetitions=1000
statistics= profile=
while getopts m:e:r:t:p:x:y:c:d:o:u:i:f:F:S:T:C:AMPIDZvhsqznlR: letter; do
  case $letter in
    r) repetitions=$OPTARG ;;
    s) statistics=yes ;;
    p) profile=$OPTARG ;;
    h | '?') usage ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || [ $# -eq 2 ] || usage
[ "$repetitions" -gt 0 ] || usage
if ! [ -f "$1" ]; then
  echo "/src/onnxruntime/test/onnx/onnx_model_info.cc:45 open file \"$1\" failed: No such file or directory" >&2
  exit 255
fi
sleep "$SLEEP_S"
if [ -n "$profile" ]; then
  session='{"cat" : "Session","pid" :1,"tid" :1,"ph" : "X","args" : {},"name"'
  node='{"cat" : "Node","pid" :1,"tid" :1,"ph" : "X","name" :"sleep_kernel_time","args" : {"op_name" : "Sleep"}'
  echo "[
$session :\"session_initialization\",\"dur\" :100,\"ts\" :1},
$node,\"dur\" :100,\"ts\" :201},
$session :\"model_run\",\"dur\" :105,\"ts\" :200},
$node,\"dur\" :100,\"ts\" :401},
$session :\"model_run\",\"dur\" :105,\"ts\" :400}
]" >"${profile}_2026-01-01_00-00-00.json"
fi
# What it says fits together, whatever it slept: each inference took 0.105 ms, and the total is the sum of them.
total_us=$((repetitions * 105))
rest=$((1000000 + total_us % 1000000))
total_s=$((total_us / 1000000)).${rest#1}
case $1 in
  */*) name=${1%/*} name=${name##*/} ;;
  *) name=. ;;
esac
echo "Session creation time cost: 0.0025 s
First inference time cost: 0 ms
Total inference time cost: $total_s s
Total inference requests: $repetitions
Average inference time cost: 0.105 ms
Total inference run time: $total_s s
Number of inferences per second: 9523.81 
Avg CPU usage: 0 %
Peak working set size: 26750976 bytes"
if [ $# -eq 2 ]; then
  at=0
  while [ "$at" -lt "$repetitions" ]; do
    echo "$name,0.000105,26750976,0,$at"
    at=$((at + 1))
  done >>"$2"
else
  statistics=yes
  echo "Avg CPU usage:0
Peak working set size:26750976
Runs:$repetitions"
fi
if [ -n "$statistics" ]; then
  lines='Min Latency: 0.000105 s
Max Latency: 0.000105 s
P50 Latency: 0.000105 s
P90 Latency: 0.000105 s
P95 Latency: 0.000105 s
P99 Latency: 0.000105 s
P999 Latency: 0.000105 s'
  [ $# -eq 1 ] || echo "
$lines" >>"$2"
  echo "$lines"
fi
