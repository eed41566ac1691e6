# cmd SERVICE …: connectivity airplane-mode [enable|disable] (Android 11 and later), deviceidle … (as its dumpsys).
r="${ORCH_ROOT-}"
api=0
read -r api <"$r/dev/__properties__/ro.build.version.sdk" || :
case ${1-} in
deviceidle) exec dumpsys "$@" ;;
connectivity)
    if [ "$api" -lt 30 ]; then echo "No shell command implementation." >&2; exit 255; fi
    f="$r/data/system/settings/global/airplane_mode_on"
    case ${2-},${3-} in
    airplane-mode,enable) echo 1 >"$f" ;;
    airplane-mode,disable) echo 0 >"$f" ;;
    airplane-mode,)
        v=0
        if [ -f "$f" ]; then read -r v <"$f" || :; fi
        if [ "$v" = 1 ]; then echo enabled; else echo disabled; fi ;;
    *) echo "Connectivity service commands:" ;;
    esac ;;
'') echo "cmd: No service specified; use -l to list all services" >&2; exit 20 ;;
*) echo "cmd: Can't find service: $1" >&2; exit 20 ;;
esac
