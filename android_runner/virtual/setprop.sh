# setprop NAME VALUE: the shell user may set what Android lets it set.
if [ $# -ne 2 ]; then
    echo "usage: setprop NAME VALUE" >&2
    exit 1
fi
case $1 in
*/*) allowed= ;;
debug.* | log.* | persist.log.* | persist.logd.* | sys.powerctl) allowed=1 ;;
ro.*) allowed= ;;
*) if [ "$(id -u)" = 0 ]; then allowed=1; else allowed=; fi ;;
esac
if [ -z "$allowed" ]; then
    echo "Failed to set property '$1' to '$2'." >&2
    echo "See dmesg for error reason." >&2
    exit 1
fi
echo "$2" >"${ORCH_ROOT-}/dev/__properties__/$1"
case $1=$2 in sys.powerctl=reboot*) echo "$2" >"${ORCH_ROOT-}/dev/orch/reboot" ;; esac
