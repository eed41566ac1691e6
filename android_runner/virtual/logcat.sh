# logcat [-d] [-c] [-v FORMAT] [-b BUFFER] [-T|-t COUNT] [-s] [TAG[:P]…]: threadtime whatever is asked.
f="${ORCH_ROOT-}/data/system/log"
dump= only= tags=
while [ $# -gt 0 ]; do
    case $1 in
    -d) dump=1 ;;
    -c) : >"$f"; exit 0 ;;
    -v | -b) shift ;;
    -t) dump=1; shift ;;
    -T) shift ;;
    -s) only=1 ;;
    -*) ;;
    *) tags="$tags|${1%%:*}" ;;
    esac
    shift
done
if [ -n "$only" ] && [ -n "$tags" ]; then
    pattern=" [VDIWEF] (${tags#|}): "
else
    pattern=.
fi
echo "--------- beginning of main"
if [ -n "$dump" ]; then
    grep -E "$pattern" "$f"
    exit 0
fi
tail -n +1 -f "$f" | grep -E "$pattern"
