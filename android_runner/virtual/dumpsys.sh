# dumpsys battery | thermalservice: the state that lies in /sys, in the services' words; power: whether it is awake;
# deviceidle [get|enabled|enable|disable [deep|light|all]]: doze, which is on again after a boot.
r="${ORCH_ROOT-}"
b="$r/sys/class/power_supply/battery"

one() { v=; IFS= read -r v <"$1" || :; }

tenths() { # thousandths to a decimal with one digit
    s=
    n=$1
    if [ "$n" -lt 0 ]; then s=-; n=$((-n)); fi
    echo "$s$((n / 1000)).$((n % 1000 / 100))"
}

battery() {
    one "$b/status"
    case $v in Charging) status=2 ;; Discharging) status=3 ;; Not*) status=4 ;; Full) status=5 ;; *) status=1 ;; esac
    one "$b/health"
    case $v in Good) health=2 ;; Overheat) health=3 ;; Dead) health=4 ;; Over*) health=5 ;; Cold) health=7 ;; *) health=1 ;; esac
    one "$b/capacity"; level=$v
    one "$b/voltage_now"; voltage=$((v / 1000))
    one "$b/temp"; temp=$v
    one "$b/technology"
    echo "Current Battery Service state:"
    echo "  AC powered: false"
    if [ $status = 3 ]; then echo "  USB powered: false"; else echo "  USB powered: true"; fi
    echo "  Wireless powered: false"
    echo "  Max charging current: 500000"
    echo "  Max charging voltage: 5000000"
    echo "  status: $status"
    echo "  health: $health"
    echo "  present: true"
    echo "  level: $level"
    echo "  scale: 100"
    echo "  voltage: $voltage"
    echo "  temperature: $temp"
    echo "  technology: $v"
}

zones() {
    for z in "$r"/sys/class/thermal/thermal_zone*; do
        [ -d "$z" ] || continue
        one "$z/type"; name=$v
        one "$z/temp"
        case $name in *[Ss]kin* | quiet*) type=3 ;; *[Bb]att*) type=2 ;; G3D | gpu*) type=1 ;; *) type=0 ;; esac
        echo "	Temperature{mValue=$(tenths "$v"), mType=$type, mName=$name, mStatus=$status}"
    done
}

thermalservice() {
    one "$r/dev/orch/thermal_status"; status=$v
    echo "IsStatusOverride: false"
    echo "ThermalEventListeners:"
    echo "	callbacks: 0"
    echo "ThermalStatusListeners:"
    echo "	callbacks: 0"
    echo "Thermal Status: $status"
    echo "Cached temperatures:"
    zones
    echo "HAL Ready: true"
    echo "Current temperatures from HAL:"
    zones
}

power() {
    one "$r/dev/orch/wakefulness"
    echo "POWER MANAGER (dumpsys power)"
    echo
    echo "Power Manager State:"
    echo "  mWakefulness=$v"
}

doze() { # [deep|light] as `dumpsys deviceidle` says it
    one "$r/dev/orch/doze_$1"
    if [ "$v" = 1 ]; then echo true; else echo false; fi
}

switch_doze() { # 0|1 disabled|enabled [deep|light|all]
    case ${3-all} in deep | all) echo "$1" >"$r/dev/orch/doze_deep"; echo "Deep idle mode $2" ;; esac
    case ${3-all} in light | all) echo "$1" >"$r/dev/orch/doze_light"; echo "Light idle mode $2" ;; esac
}

deviceidle() {
    case ${1-} in
    enabled)
        deep=$(doze deep) light=$(doze light)
        case ${2-all},$deep,$light in deep,true,* | light,*,true | all,true,true) echo 1 ;; *) echo 0 ;; esac ;;
    enable) switch_doze 1 enabled ${2-} ;;
    get) echo ACTIVE ;;
    disable) switch_doze 0 disabled ${2-} ;;
    *) echo "  mLightEnabled=$(doze light)  mDeepEnabled=$(doze deep)"; echo "  mState=ACTIVE mLightState=ACTIVE" ;;
    esac
}

one "$r/dev/__properties__/ro.build.version.sdk"; api=$v
case ${1-} in
power) power ;;
deviceidle) shift; deviceidle "$@" ;;
battery) battery ;;
thermalservice) if [ "$api" -ge 29 ]; then thermalservice; else echo "Can't find service: $1" >&2; fi ;;
-l) echo "Currently running services:"; for s in battery deviceidle power; do echo "  $s"; done; if [ "$api" -ge 29 ]; then echo "  thermalservice"; fi ;;
'') battery; if [ "$api" -ge 29 ]; then thermalservice; fi ;;
*) echo "Can't find service: $1" >&2 ;;
esac
