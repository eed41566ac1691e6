#!/bin/sh
# Looks like onnxruntime_perf_test 1.21, sleeps instead of computing: for tests of what is around a measurement.
# Starts one process, the sleep; everything else is the shell's own.
SLEEP_S=1
SLEEP_MS=1000
usage() {
  echo 'USAGE'
  exit 255
}
now() { # hundredths of a second
  read -r up rest </proc/uptime
  hundredths=${up#*.}
  at=$((${up%.*} * 100 + 1$hundredths - 100))
}
work_at_pace() { # on a phone that gets hot: so long that its clocks would have let it do SLEEP_S of work
  now
  began=$at last=$at done_=0 all=$((SLEEP_MS * 1000)) # in hundredths of a second times ten-thousandths
  while [ "$done_" -lt "$all" ]; do
    read -r share rest <"$pace"
    left=$(((all - done_) / share)) # hundredths, at this pace
    [ "$left" -le 10 ] || left=10
    [ "$left" -ge 1 ] || left=1
    sleep "0.$((left / 10))$((left % 10))"
    now
    done_=$((done_ + (at - last) * share))
    last=$at
  done
  [ "$done_" = 0 ] || slow=$(((last - began) * 10000000 / done_))
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
slow=1000 # per mille: how much longer it took than it should have
pace=${ORCH_ROOT-}/dev/orch/pace
if [ -r "$pace" ]; then work_at_pace; else sleep "$SLEEP_S"; fi
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
# What it says fits together, whatever it slept: each inference took 0.105 ms (at full pace), and the total is the sum of them.
latency_s=0.000105 latency_ms=0.105 rate=9523.81
if [ "$slow" != 1000 ]; then
  ns=$((1000000000 + 105 * slow))
  latency_s=0.${ns#1} latency_ms=$((105 * slow / 1000000)).${ns#1???} rate=$((1000000000 / (105 * slow)))
fi
total_us=$((repetitions * 105 * slow / 1000))
rest=$((1000000 + total_us % 1000000))
total_s=$((total_us / 1000000)).${rest#1}
fault=${ORCH_ROOT-}/dev/orch/tool_fault wrong='' # what the phone's faults have it do wrong, once
if [ -r "$fault" ]; then
  read -r wrong <"$fault"
  rm -f "$fault"
fi
case $1 in
  */*) name=${1%/*} name=${name##*/} ;;
  *) name=. ;;
esac
echo "Session creation time cost: 0.0025 s
First inference time cost: 0 ms
Total inference time cost: $total_s s
Total inference requests: $repetitions
Average inference time cost: $latency_ms ms"
case $wrong in
  cut)
    [ $# -ne 2 ] || echo "$name,0.00" >>"$2"
    exit 0
    ;;
  flood) head -c 50331648 /dev/zero ;;
  garble)
    head -c 4096 /dev/urandom
    echo "
Average inference time cost: nan ms
P50 Latency: -1 s"
    ;;
esac
echo "Total inference run time: $total_s s
Number of inferences per second: $rate 
Avg CPU usage: 0 %
Peak working set size: 26750976 bytes"
if [ $# -eq 2 ]; then
  at=0
  while [ "$at" -lt "$repetitions" ]; do
    echo "$name,$latency_s,26750976,0,$at"
    at=$((at + 1))
  done >>"$2"
else
  statistics=yes
  echo "Avg CPU usage:0
Peak working set size:26750976
Runs:$repetitions"
fi
if [ -n "$statistics" ]; then
  lines="Min Latency: $latency_s s
Max Latency: $latency_s s
P50 Latency: $latency_s s
P90 Latency: $latency_s s
P95 Latency: $latency_s s
P99 Latency: $latency_s s
P999 Latency: $latency_s s"
  [ $# -eq 1 ] || echo "
$lines" >>"$2"
  echo "$lines"
fi
[ "$wrong" != crash-late ] || kill -SEGV $$
