# input [SOURCE] keyevent CODE: the keys that wake a phone and send it to sleep (KEYCODE_POWER 26, SLEEP 223, WAKEUP 224).
w="${ORCH_ROOT-}/dev/orch/wakefulness"
case ${1-} in keyboard | gamepad | joystick | dpad) shift ;; esac
if [ "${1-}" != keyevent ] || [ $# -lt 2 ]; then
    echo "Error: Unknown command: ${1-}" >&2
    exit 255
fi
case $2 in
224 | KEYCODE_WAKEUP) echo Awake >"$w" ;;
223 | KEYCODE_SLEEP) echo Asleep >"$w" ;;
26 | KEYCODE_POWER)
    v=
    read -r v <"$w" || :
    if [ "$v" = Awake ]; then echo Asleep >"$w"; else echo Awake >"$w"; fi ;;
esac
