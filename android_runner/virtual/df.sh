# df -k [PATH]: for a phone whose storage has a bound of its own (the numbers are in 1 KiB blocks).
read total <"${ORCH_ROOT-}/dev/orch/storage_kib"
used=$(du -sk "${ORCH_ROOT-}/data" 2>/dev/null)
used=${used%%[!0-9]*}
free=$((total - used))
if [ $free -lt 0 ]; then free=0; fi
echo "Filesystem     1K-blocks    Used Available Use% Mounted on"
echo "/dev/block/dm-0 $total $used $free $((used * 100 / total))% /data"
