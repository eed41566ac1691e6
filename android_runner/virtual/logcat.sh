# logcat [-d] [-c] [-v FORMAT] [-b BUFFER] [-T|-t COUNT] [--pid=PID] [-s] [TAG[:P]…]: threadtime whatever is asked.
# Streams without -d or -t: by short-lived processes in a loop of this one, so that nothing is left when it is ended.
f="${ORCH_ROOT-}/data/system/log"
dump= count= pid= silent= specs=
while [ $# -gt 0 ]; do
    case $1 in
    -d) dump=1 ;;
    -c) : >"$f"; exit 0 ;;
    -v | -b) shift ;;
    -t) dump=1 count=$2; shift ;;
    -T) count=$2; shift ;;
    --pid=*) pid=${1#*=} ;;
    --pid) pid=$2; shift ;;
    -s) silent=1 ;;
    -*) ;;
    *) specs="$specs $1" ;;
    esac
    shift
done
case $pid in *[!0-9]*) echo "logcat: --pid $pid out of range" >&2; exit 1 ;; esac
case $count in *[!0-9]*) count= ;; esac # a point in time: everything

levels=VDIWEF any=$levels wanted= unwanted=
[ -z "$silent" ] || any=
for spec in $specs; do
    tag=${spec%%:*} level=V
    case $spec in *:?*) level=${spec#*:} ;; esac
    case $level in [vdiwefs]) level=$(echo "$level" | tr vdiwefs VDIWEFS) ;; esac
    case $level in [VDIWEF]) from=$level${levels#*"$level"} ;; *) from= ;; esac
    if [ "$tag" = '*' ]; then
        any=$from
    else
        [ -z "$from" ] || wanted="$wanted|[$from] $tag *: "
        below=${levels%"$from"}
        [ -z "$below" ] || unwanted="$unwanted|[$below] $tag *: "
    fi
done
[ -z "$any" ] || wanted="$wanted|[$any] "
head="^[0-9-]+ [0-9:.]+ +${pid:-[0-9]+} +[0-9]+ "

chosen() {
    LC_ALL=C grep -E "$head(${wanted#?})" | LC_ALL=C grep -vE "$head(${unwanted#?})"
}
[ -n "$wanted" ] || wanted="|x"
[ -n "$unwanted" ] || unwanted="|x"

exec 3<"$f"
echo "--------- beginning of main"
if [ -n "$count" ]; then cat <&3 | tail -n "$count" | chosen; else cat <&3 | chosen; fi
[ -z "$dump" ] || exit 0
newline='
'
rest=
while :; do
    got=$(cat <&3; echo .)
    got=$rest${got%.}
    rest=${got##*"$newline"}
    got=${got%"$rest"}
    # a here-document, as an argument may not be as long as a chunk of log
    [ -z "$got" ] || chosen <<END
${got%"$newline"}
END
    sleep 0.1
done
