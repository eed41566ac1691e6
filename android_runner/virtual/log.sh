# log [-p PRIORITY] [-t TAG] MESSAGE…: one line in threadtime form.
priority=I tag=shell
while [ $# -gt 0 ]; do
    case $1 in
    -p) priority=$2; shift 2 ;;
    -t) tag=$2; shift 2 ;;
    *) break ;;
    esac
done
case $priority in v) priority=V ;; d) priority=D ;; i) priority=I ;; w) priority=W ;; e) priority=E ;; f) priority=F ;; esac
echo "$(date '+%m-%d %H:%M:%S.000')  $$  $$ $priority $tag: $*" >>"${ORCH_ROOT-}/data/system/log"
