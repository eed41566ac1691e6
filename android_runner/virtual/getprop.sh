# getprop [NAME [DEFAULT]]: one file a property, since a builtin read of a file starts nothing.
d="${ORCH_ROOT-}/dev/__properties__"
case ${1-} in
'')
    for f in "$d"/*; do
        v=
        IFS= read -r v <"$f" || :
        echo "[${f##*/}]: [$v]"
    done ;;
*/* | . | ..) echo "${2-}" ;;
*)
    v=${2-}
    if [ -f "$d/$1" ]; then IFS= read -r v <"$d/$1" || :; fi
    echo "$v" ;;
esac
