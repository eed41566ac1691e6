# settings get|put|delete|list NAMESPACE [KEY [VALUE]]: kept over a reboot, one file a setting.
what=${1-} space=${2-} key=${3-}
case $space in
system | secure | global) ;;
*) echo "Invalid namespace '$space'" >&2; exit 255 ;;
esac
case $key in */* | . | ..) echo "Invalid key '$key'" >&2; exit 255 ;; esac
d="${ORCH_ROOT-}/data/system/settings/$space"
case $what in
get)
    v=null
    if [ -f "$d/$key" ]; then IFS= read -r v <"$d/$key" || :; fi
    echo "$v" ;;
put) echo "${4-}" >"$d/$key" ;;
delete)
    if [ -f "$d/$key" ]; then rm "$d/$key"; echo "Deleted 1 rows"; else echo "Deleted 0 rows"; fi ;;
list)
    for f in "$d"/*; do
        [ -f "$f" ] || continue
        v=
        IFS= read -r v <"$f" || :
        echo "${f##*/}=$v"
    done ;;
*) echo "Invalid command: $what" >&2; exit 255 ;;
esac
