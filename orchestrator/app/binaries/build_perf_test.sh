#!/bin/sh
# Builds onnxruntime_perf_test, onnx_test_runner and libonnxruntime.so for Android out of a release of ONNX Runtime,
# and packs them into one zip that `orch binaries add` takes, a folder for each ABI.
#
#   orch binaries howto > build_perf_test.sh
#   sh build_perf_test.sh v1.23.2                     all four ABIs
#   sh build_perf_test.sh v1.23.2 arm64-v8a x86_64    some
#   orch binaries add onnxruntime-v1.23.2-android.zip
#
# UNTESTED: no NDK was at hand where this was written; the options are those of onnxruntime's own Android builds.
# Needs: git, Python 3.10 or later, CMake 3.28 or later, Ninja, a C++ compiler for protoc, zip, Android's SDK in
# $ANDROID_HOME and an NDK (r27 or later) in $ANDROID_NDK_HOME; 15 GB of disk and about an hour for each ABI.
set -eu

tag=${1:?give a release: v1.23.2}
shift
[ $# -gt 0 ] || set -- arm64-v8a armeabi-v7a x86_64 x86
: "${ANDROID_HOME:?names no SDK}" "${ANDROID_NDK_HOME:?names no NDK}"
work=$PWD/onnxruntime-$tag
out=$work/android
zip_file=$PWD/onnxruntime-$tag-android.zip

# A clone of its own: after a --minimal_build a tree lacks kernels until `git reset --hard`.
[ -d "$work/.git" ] ||
  git clone --depth 1 --branch "$tag" --recurse-submodules --shallow-submodules \
    https://github.com/microsoft/onnxruntime "$work"
cd "$work"

# From 1.23 on perf_test reads its options with Abseil, which leaves flags' names out on mobile unless told not to:
# such a perf_test refuses every option.
CXXFLAGS="${CXXFLAGS:-} -DABSL_FLAGS_STRIP_NAMES=0"
export CXXFLAGS

rm -rf "$out"
for abi; do
  # No --minimal_build: a full build loads .onnx and .ort, and optimizes on the phone. API 27 is NNAPI's first.
  # Flexible page sizes: 16 KB alignment, for phones with large memory pages (what NDK r28 does by itself).
  ./build.sh --update --config Release --build_dir "build/$abi" --cmake_generator Ninja --skip_tests \
    --android --android_abi "$abi" --android_api 27 \
    --android_sdk_path "$ANDROID_HOME" --android_ndk_path "$ANDROID_NDK_HOME" \
    --use_nnapi --use_xnnpack --build_shared_lib --compile_no_warning_as_error --allow_running_as_root \
    --cmake_extra_defines onnxruntime_BUILD_UNIT_TESTS=ON ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON
  cmake --build "build/$abi/Release" --parallel --target onnxruntime_perf_test onnx_test_runner onnxruntime
  mkdir -p "$out/$abi"
  for file in onnxruntime_perf_test onnx_test_runner libonnxruntime.so; do
    cp -L "build/$abi/Release/$file" "$out/$abi/$file"
  done
done

rm -f "$zip_file"
(cd "$out" && zip -qr "$zip_file" .)
echo "orch binaries add $zip_file"
