# reboot: the phone's init sees the file.
echo "reboot,${1-}" >"${ORCH_ROOT-}/dev/orch/reboot"
sleep 30
