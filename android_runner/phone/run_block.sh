#!/system/bin/sh
# Runs one block of trials on a phone, alone.
#
#   setsid sh run_block.sh BLOCKDIR EPOCH </dev/null >/dev/null 2>&1 &
#
# For Android 8's mksh (R55: integers of 32 bits, no printf) and toybox (0.7.4), and any POSIX shell. What happens per
# trial uses builtins only, as starting a process costs milliseconds on a phone: one process per trial, the trial.
# Without taskset a trial with cores is refused (125); without dumpsys, getprop or grep what they tell is not offered.
# Timeout is not used (a watchdog ends trials), nor sha256sum (staging needs one, and refuses a phone that has none).
# ORCH_ROOT is the root prefix of a virtual phone without namespaces, empty elsewhere. In BLOCKDIR:
#
#   list      sourced: `begin ID...`, then a line `t ID DEADLINE ENVCOUNT NAME=VALUE... WORD...` per trial; a line
#             `l TAG...` before it: keep what the phone's log says under these tags meanwhile, in the trial's `logcat`;
#             a line `a MASK` (hex) before it: on these cores only, or not at all where there is no taskset; a line
#             `g LIMIT...` before all others: what the phone must be like before a trial starts (gate, below)
#   journal   `SEQ EVENT FIELDS... CHECK` a line; CHECK chains over all numbers of all lines so far (put, below)
#   vitals    what does not change, then per snapshot `== N` and lines `PATH:VALUE`; N is SEQ when it was taken
#   pid       PID START BOOTID of this script, PID START of its watchdog; START is field 22 of /proc/PID/stat
#   current   PID START DEADLINE ID UPTIME of the process that runs
#   over      ID WORD: the watchdog ends this trial, and why
#   logger    PID START of the `logcat` that runs beside the trial
#   part/ID/process   how the trial's own process was placed, read once after its start
#   beat      grows every second while this script lives
#   started, refused   the answer to who started it;   stop, kill   made by the host
#   part/ID   working directory of a trial; renamed to out/ID when it has ended, `rc` in it says how
#
# Of shellcheck's rules some can't hold here: lists of words are split on purpose (SC2086), EPOCHREALTIME may be missing
# (SC3028), a variable's name comes from the list (SC2163), fields are read to be passed over (SC2034), `A && B || C`
# where C may follow B (SC2015), and the list is not there yet (SC1091).
# shellcheck shell=sh disable=SC2086,SC3028,SC2163,SC2034,SC2015,SC1091
root=${ORCH_ROOT-}
case $1 in "$root"/*) B=$1 ;; *) B=$root$1 ;; esac
epoch=$2
lease=${B%/blocks/*}/lease
cd "$B" || exit 1
exec </dev/null >>"$B/log" 2>&1
set -m # each background job gets a process group of its own; dash and busybox can't without a terminal
seq=0 chain=0 index=0 snap=0 asked=-100 asked_slow=-100 deaf=' ' ending='' lost=' ' tags='' logger='' mask='' pin=''
gated='' heat='' level='' zone='' load='' status='' procs=/proc others=''
nl='
'
case $(command -v rename) in rename) rename='rename' ;; *) rename='mv' ;; esac

case ${KSH_VERSION-} in # FILE: sets value to all its lines; mksh does it at one go, without a process
  *KSH*) eval 'slurp() { value=$(<"$1"); }' ;;
  *)
    slurp() {
      value='' piece=''
      while IFS= read -r piece; do value="$value$piece$nl"; done <"$1"
      value=$value$piece # of a last line without its end, also where the process of a file died in the middle
    }
    ;;
esac

clock() { read -r up idle </proc/uptime; }

stat_of() { # PID: sets name, state, parent, group, nice, start, spent (ticks); fails when there is no such process
  value='' state='' parent='' group='' nice='' start=- spent=''
  [ -r "$procs/$1/stat" ] || return 1
  slurp "$procs/$1/stat" 2>/dev/null
  line=$value
  name=${line#*\(}
  name=${name%)*} line=${line##*) }
  set -- $line
  state=$1 parent=${2-} group=${3-} nice=${17-} start=${20-} spent="${12-} ${13-} ${14-} ${15-}"
  [ -n "$start" ]
}

runs() { # PID START: is this very process alive
  [ -n "$2" ] && stat_of "$1" && [ "$start" = "$2" ] && [ "$state" != Z ]
}

end_by() { # SIGNAL PID: to its group, or to it where it has none
  kill "-$1" "-$2" 2>/dev/null || kill "-$1" "$2" 2>/dev/null
}

put() { # TEXT NUMBER...: one journal line; the check figure stays below 2^31 for mksh
  text=$1
  shift
  seq=$((seq + 1))
  chain=$(((chain * 33 + seq) % 65521))
  for n in "$@"; do chain=$(((chain * 33 + n % 65521) % 65521)); done
  echo "$seq $text $chain" >>"$B/journal"
}

put_end() { # WORD INDEX ID CODE SNAPSHOT UPTIME
  case $1 in exited) w=4 ;; timed_out) w=5 ;; *) w=6 ;; esac
  put "$*" $w "$2" "$4" "$5" "${6%.*}" "1${6#*.}"
}

refuse() {
  echo "$*" >"$B/refused"
  exit 3
}

# --- what stands on the phone already ---

check_lease() { # the highest epoch ever seen holds the phone; ours have at most 9 digits
  holder=''
  [ -r "$lease" ] && read -r holder <"$lease"
  case $holder in '' | *[!0-9]*) holder=0 ;; esac
  [ ${#holder} -le 9 ] || refuse "lease $holder"
  [ "$holder" -le "$epoch" ] || refuse "lease $holder"
  [ "$holder" = "$epoch" ] && return
  echo "$epoch" >"$lease.$$" && $rename "$lease.$$" "$lease"
}

take_lock() { # a directory; its owner file decides whether who made it still lives
  tries=0
  until mkdir "$B/lock" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -le 5 ] || refuse "locked"
    owner=''
    [ -r "$B/lock/owner" ] && read -r owner <"$B/lock/owner"
    if [ -z "$owner" ] && [ $tries = 1 ]; then sleep 1 && continue; fi
    set -- $owner
    [ "${3-}" = "$boot" ] && runs "$1" "$2" && refuse "running $1"
    mv "$B/lock" "$B/lock.$$" 2>/dev/null || continue
    now=''
    [ -r "$B/lock.$$/owner" ] && read -r now <"$B/lock.$$/owner"
    if [ "$now" != "$owner" ]; then # somebody was faster
      mv "$B/lock.$$" "$B/lock"
      refuse "running ${now%% *}"
    fi
    rm -r "$B/lock.$$"
  done
  echo "$$ $mine $boot" >"$B/lock/owner"
}

end_leftovers() { # a SIGKILLed script leaves its watchdog and its trial behind
  here=$(pwd -P)
  if [ -r "$B/pid" ]; then
    read -r x y z wpid wstart <"$B/pid"
    [ "$z" = "$boot" ] && runs "$wpid" "$wstart" && end_by KILL "$wpid"
    if [ "$z" = "$boot" ] && [ -r "$B/current" ]; then
      read -r cpid cstart x <"$B/current"
      runs "$cpid" "$cstart" && end_by KILL "$cpid"
    fi
  fi
  tries=0 found=1
  while [ -n "$found" ] && [ $tries -lt 3 ]; do
    found='' tries=$((tries + 1))
    for p in /proc/[0-9]*; do # also one whose pid was not written down in time
      [ "${p#/proc/}" != $$ ] && cd -P "$p/cwd" 2>/dev/null || continue
      place=$(pwd -P) # mksh's PWD is no physical path here
      cd "$B" || exit 1
      case $place in "$here"/part/*) kill -KILL "${p#/proc/}" 2>/dev/null && found=1 ;; esac
    done
    [ -z "$found" ] || sleep 1
  done
}

recover() { # go on with the journal of a script that died: sets seq, chain, lost and what was open
  open='' s=''
  while read -r s event a b rest; do
    seq=$s chain=${rest##* }
    case $event in
      start) open="$a $b" opened=$rest ;;
      lost) open='' lost="$lost$b " chain=$rest ;;
      exited | timed_out | stopped) open='' ;;
      finish) chain=$rest ;;
    esac
    s=''
  done <"$B/journal"
  [ -z "$s" ] || echo >>"$B/journal" # a torn line is ended, so that the next one stands alone
}

settle() { # INDEX ID: the trial that was open when the former script died
  from=part
  [ -d "$B/out/$2" ] && from=out
  dot='' i=''
  [ -r "$B/$from/$2/rc" ] && read -r code word i before snap began ended dot <"$B/$from/$2/rc"
  if [ "$dot" = . ] && [ "$i" = "$1" ]; then
    [ $from = out ] || $rename "$B/part/$2" "$B/out/$2"
    put_end "$word" "$1" "$2" "$code" "$snap" "$ended"
  else
    put "lost $1 $2" 7 "$1" # its directory stays in part/ as evidence
    lost="$lost$2 "
  fi
}

# --- vitals ---

probe() { # FILE below the root: kept for the snapshots when it answers, and within 5 ms where that can be timed
  value='' since=${EPOCHREALTIME-0}
  read -r value <"$root$1" || [ -n "$value" ] || return 1
  till=${EPOCHREALTIME-0}
  since=1${since#*[.,]} till=1${till#*[.,]}
  [ $((till - since)) -ge 0 ] || till=$((till + 1000000))
  [ $((till - since)) -le 5000 ] && [ -n "$value" ] && files="$files $1"
}

find_others() { # who runs as our user is told apart by the owner of /proc/PID: not as root, and not on a shared /proc
  others=$root/proc
  [ -z "$root" ] || [ -e "$others/1" ] || others=''
  case $(command -v id) in '') others='' ;; *) [ "$(id -u)" != 0 ] || others='' ;; esac
}

find_files() {
  files='' tables='' services='' slow='' loadavg=/proc/loadavg meminfo=/proc/meminfo
  [ -r "$root$loadavg" ] && loadavg=$root$loadavg
  [ -r "$root$meminfo" ] && meminfo=$root$meminfo
  slurp "$meminfo"
  case $value in *MemAvailable:*) ;; *) meminfo='' ;; esac
  for f in "$root"/sys/devices/system/cpu/cpufreq/policy*; do
    probe "${f#"$root"}/scaling_cur_freq"
    probe "${f#"$root"}/scaling_max_freq"
    probe "${f#"$root"}/scaling_governor"
    value=''
    slurp "$f/stats/time_in_state"
    [ -z "$value" ] || tables="$tables ${f#"$root"}/stats/time_in_state"
  done
  if [ -z "$files" ]; then
    for f in "$root"/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq; do probe "${f#"$root"}"; done
  fi
  for f in "$root"/sys/class/thermal/thermal_zone*/temp; do
    probe "${f#"$root"}" || continue
    value=''
    read -r value <"${f%temp}type"
    [ -n "$value" ] && [ -n "$new" ] && f=${f#"$root"} && echo "${f%temp}type:$value" >>"$B/vitals"
  done
  f=/sys/class/power_supply/battery
  for n in current_now health status; do probe $f/$n; done
  if ! { probe $f/capacity && probe $f/temp; }; then services=battery; fi
  command -v dumpsys >/dev/null || services=''
  case $(command -v getprop) in '') return ;; esac
  command -v dumpsys >/dev/null || return
  sdk=$(getprop ro.build.version.sdk)
  case $sdk in '' | *[!0-9]*) return ;; esac
  [ "$sdk" -lt 29 ] || services="$services thermalservice"
  [ "$sdk" -lt 24 ] || slow=deviceidle
  case $(command -v grep) in '') ;; *) slow="$slow power" ;; esac
}

ask() { # SERVICE WORD...: the lines of its dumpsys that matter; one that hangs or fails is not asked again
  case $deaf in *" $1 "*) return ;; esac
  dumpsys "$@" >"$B/dump" 2>/dev/null &
  guard $! 10 .dumpsys
  wait $! || deaf="$deaf$1 "
  count=0
  [ "$1" != power ] || grep -m 4 mWakefulness= "$B/dump" >"$B/dump.power" # hundreds of lines
  f=$B/dump
  [ "$1" != power ] || f=$B/dump.power
  while IFS= read -r line && [ $count -lt 60 ]; do
    case $1:$line in
      battery:*level:* | battery:*temperature:* | battery:*status:* | battery:*health:* | battery:*powered:*) ;;
      thermalservice:*"Thermal Status"* | thermalservice:*Temperature\{*) ;;
      power:*) ;;
      deviceidle:[A-Z]*) line="deep: $line" ;;
      *) continue ;;
    esac
    echo "dumpsys-$1:$line"
    count=$((count + 1))
    [ -z "$gated" ] || regard "$1:$line"
  done <"$f"
}

sense() { # prints how the phone is now
  zone=''
  echo "/proc/uptime:$up $idle"
  echo "/proc/sys/kernel/random/boot_id:$boot"
  read -r load <"$loadavg" && echo "/proc/loadavg:$load"
  [ -z "$meminfo" ] || while read -r n value f; do
    case $n in MemAvailable:) echo "/proc/meminfo:$n $value kB" && break ;; esac
  done <"$meminfo"
  for f in $files; do
    value=''
    read -r value <"$root$f"
    [ -n "$value" ] || continue
    echo "$f:$value"
    [ -z "$gated" ] || regard "$f:$value"
  done
  for f in $tables; do
    slurp "$root$f"
    echo "$f:" $value # its lines as one
  done
  if [ -n "$services" ] && [ $((${up%.*} - asked)) -ge 10 ]; then
    asked=${up%.*}
    for f in $services; do ask "$f"; done
  fi
  if [ -n "$slow" ] && [ $((${up%.*} - asked_slow)) -ge 30 ]; then
    asked_slow=${up%.*}
    case $slow in *power*) ask power ;; esac
    case $slow in *deviceidle*) ask deviceidle get deep ;; esac
  fi
}

strangers() { # prints who else runs as our user: somebody's shell, or what came out of one; ours work in our folder
  [ -n "$others" ] || return 0
  told='' count=0 procs=$others
  for p in "$others"/[0-9]*; do
    [ -O "$p" ] && [ $count -lt 8 ] || continue
    p=${p##*/}
    case $p in 1 | "$$" | "$dog") continue ;; esac
    stat_of "$p" && [ "$state" != Z ] || continue
    case $parent in "$$" | "$dog") continue ;; esac
    case $name in adbd | *android.shell) continue ;; *[!A-Za-z0-9_.:@+-]* | '') name=other ;; esac
    value=''
    slurp "$others/$p/cmdline"
    case $value in *"${B%/blocks/*}"* | */data/local/tmp/orch*) continue ;; esac
    set -- $spent
    whole "${1-}" && whole "${2-}" && whole "${3-}" && whole "${4-}" || continue
    told="$told $p,$start,$(($1 + $2 + $3 + $4)),$name" count=$((count + 1))
  done
  procs=/proc
  echo "shells:$told"
}

snapshot() { # between two trials: after the one, before the other
  snap=$seq
  clock
  {
    echo "== $snap"
    sense
    strangers
  } 2>/dev/null >>"$B/vitals"
}

# --- the gate: what the phone must be like before a trial starts; what it does not offer is not waited for ---

g() { # BATTERY ZONE LEVEL HYSTERESIS LOAD STATUS FLAT WINDOW TIMEOUT: 0.1 C, 0.001 C, %, %, 0.01, -, 0.001 C, s, s
  gated=1 max_heat=$1 max_zone=$2 floor=$3 more=$4 max_load=$5 max_status=$6 flat=$7 window=$8 patience=$9
}

whole() { # WORD: a number that every shell counts with
  case ${1#-} in '' | 0?* | *[!0-9]*) return 1 ;; esac
  [ ${#1} -le 7 ]
}

regard() { # FILE:VALUE: keeps what the gate looks at
  n=${1##*[: ]}
  case $1 in
    */battery/temp:* | battery:*temperature:*) heat=$n ;;
    */battery/capacity:* | battery:*" level:"*) level=$n ;;
    */thermal_zone*/temp:*)
      whole "$n" || return
      if [ "$n" -lt 151 ]; then n=$((n * 1000)); elif [ "$n" -lt 1000 ]; then n=$((n * 100)); fi
      [ "$n" -gt 200000 ] || { [ -n "$zone" ] && [ "$n" -le "$zone" ]; } || zone=$n
      ;;
    thermalservice:*"Thermal Status"*) status=$n ;;
  esac
}

busy() { # do others compute: both in this moment and in the mean of the last minute, where our last trial still is
  case $load in [0-9]*.[0-9][0-9]\ *\ *\ [0-9]*/*) ;; *) return 1 ;; esac
  set -- $load
  whole "${4%%/*}" && whole "${1%.*}" || return 1
  [ $(((${4%%/*} - 1) * 100)) -gt "$max_load" ] && [ $((${1%.*} * 100 + 1${1#*.} - 100)) -gt "$max_load" ]
}

ready() { # sets cause to the first thing that has to be waited for
  cause=''
  if [ "$floor" != - ] && whole "$level" && [ "$level" -lt $((floor + low)) ]; then
    cause=level low=$more # once it is too low, it must come this much above
  elif [ "$max_status" != - ] && whole "$status" && [ "$status" -gt "$max_status" ]; then
    cause=status
  elif [ "$max_heat" != - ] && whole "$heat" && [ "$heat" -gt "$max_heat" ]; then
    cause=battery
  elif [ "$max_zone" != - ] && [ -n "$zone" ] && [ "$zone" -gt "$max_zone" ]; then
    cause=zone
  elif [ "$max_load" != - ] && busy; then
    cause=load
  fi
  [ -z "$cause" ]
}

cools() { # fails when a whole window has passed in which no temperature fell: it will not get cooler than this
  case $cause in battery | zone) ;; *) return 0 ;; esac
  [ $((now - window_from)) -ge "$window" ] || return 0
  window_from=$now then_heat=$heat0 then_zone=$zone0 heat0=$heat zone0=$zone
  whole "$then_heat" && whole "$heat" && [ $(((then_heat - heat) * 100)) -ge "$flat" ] && return 0
  [ -n "$then_zone" ] && [ -n "$zone" ] && [ $((then_zone - zone)) -ge "$flat" ]
}

gate() { # waits; a line of the journal and a fresh snapshot, where it had to
  [ -n "$gated" ] || return 0
  low=0
  ready && return
  clock
  gate_from=${up%.*} window_from=${up%.*} heat0=$heat zone0=$zone now=${up%.*} outcome=ready w=1
  until ready; do
    held=$cause
    cools || { outcome=flat w=2 && break; }
    [ $((now - gate_from)) -lt "$patience" ] || { outcome=timeout w=3 && break; }
    asked_to_end && return
    sleep 1
    clock
    now=${up%.*}
    sense >/dev/null 2>&1
  done
  case $held in battery) n=1 ;; zone) n=2 ;; level) n=3 ;; load) n=4 ;; *) n=5 ;; esac
  put "gate $index $id $((now - gate_from)) $outcome $held" 9 $index $((now - gate_from)) $w $n
  asked=-100 # its figures have to stand in the snapshot, not only in our hands
  snapshot
}

# --- trials ---

guard() { # PID LIMIT ID: from now on the watchdog looks after this process
  stat_of "$1"
  echo "$1 $start $2 $3 ${up%.*}" >"$B/current"
}

watch() { # in the background for the whole list; outlives the script until the running trial has ended
  seen='' past=0 last=0 held='' held_from=''
  while sleep 1; do
    if [ ! -d "$B" ]; then # somebody cleared it: nobody would ever look after what runs there
      runs "$held" "$held_from" && end_by KILL "$held"
      runs $$ "$mine" && kill -KILL $$
      exit
    fi
    alive=''
    runs $$ "$mine" && alive=1 && echo >>"$B/beat"
    pid='' from=''
    read -r pid from limit id since <"$B/current"
    [ -z "$pid" ] || held=$pid held_from=$from
    if ! { [ -n "$pid" ] && runs "$pid" "$from"; }; then
      [ -n "$alive" ] && continue
      [ -z "$pid" ] || kill -KILL "-$pid" 2>/dev/null
      end_logger
      exit
    fi
    clock
    now=${up%.*}
    if [ "$seen" != "$pid $from" ]; then
      seen="$pid $from" past=0 told=''
      [ -e "$B/part/$id/waiting" ] || past=$((now - since))
    elif [ ! -e "$B/part/$id/waiting" ]; then
      past=$((past + now - last)) # time in a queue is not the trial's
    fi
    last=$now
    why=''
    [ $past -ge "$limit" ] && why=timed_out
    [ -e "$B/kill" ] && why=stopped
    [ -n "$why" ] || continue
    if [ -z "$told" ]; then
      told=$now
      echo "$id $why" >"$B/over"
      end_by TERM "$pid"
    elif [ $((now - told)) -ge 2 ]; then
      end_by KILL "$pid"
    fi
  done
}

# --- the phone's log, beside a trial that asks for it: never a timed one, so that processes may be started ---

l() { # TAG...: for the next trial
  tags=$*
}

open_log() { # ID: stream into its file; the buffer is never cleared, other tags and older lines stay outside
  [ -n "$tags" ] || return 0
  case $(command -v logcat) in '') return 0 ;; esac
  specs=''
  for n in $tags; do specs="$specs $n:V"; done
  {
    cd "$B/part/$1" || exit 126
    ulimit -f 131072 # 64 MiB where a block is 512 bytes: more ends it, and the host sees the end mark missing
    exec $session logcat -b main -v threadtime -T 1 -s $specs orch-mark:V chatty:V
  } >"$B/part/$1/logcat" 2>&1 </dev/null &
  logger=$!
  stat_of $logger
  echo "$logger $start" >"$B/logger"
  mark 3 "begin $1"
}

close_log() { # ID PID: the end mark names the process whose lines count
  tags=''
  [ -n "$logger" ] || return 0
  mark 5 "end $1 $2"
  end_logger
  wait $logger
  : >"$B/logger"
  logger=''
}

end_logger() {
  n=''
  [ -r "$B/logger" ] && read -r n x <"$B/logger" && runs "$n" "$x" && end_by KILL "$n"
}

mark() { # SECONDS WORDS: written into the log until it comes out into the file, so nothing in between is lost unseen
  tries=0
  until [ $tries -ge "$1"0 ] || [ -e "$B/kill" ]; do
    if [ $((tries % 10)) = 0 ]; then
      log -p i -t orch-mark "$2" </dev/null &
      guard $! 10 .log
      wait $!
    fi
    grep -q "orch-mark *: $2\$" "$B/part/$id/logcat" && return
    sleep 0.1 || sleep 1
    tries=$((tries + 1))
  done
}

# --- cores, and how the process is placed ---

a() { # MASK: for the next trial; who sets it is asked for once
  mask=$1
  [ -z "$pin" ] || return 0
  case $(command -v taskset) in '') ;; *) pin=taskset && return ;; esac
  toybox taskset -p $$ >/dev/null 2>&1 && pin='toybox taskset' && return # more commands than it has links
  pin=none
}

placed() { # PID: prints how it is placed, once it is the program and no longer who sets its cores
  tries=0 # without cores it has been looked at already
  while [ -n "$cores" ] && stat_of "$1" && [ $tries -lt 200 ]; do
    case " $own_name setsid taskset toybox busybox " in *" $name "*) tries=$((tries + 1)) ;; *) break ;; esac
  done
  echo "nice:$nice"
  for n in cpuset cgroup; do
    slurp "/proc/$1/$n"
    echo "$n:" $value
  done
  slurp "/proc/$1/status"
  case $value in
    *Cpus_allowed_list:*)
      value=${value#*Cpus_allowed_list:}
      echo "allowed:" ${value%%"$nl"*}
      ;;
  esac
  slurp "$root/sys/devices/system/cpu/online"
  echo "online:" $value
}

begin() { # ID...: all directories with one process, then the journal's first line
  made=out
  for id in "$@"; do
    [ -d "$B/out/$id" ] || [ -d "$B/part/$id" ] || made="$made part/$id"
  done
  mkdir -p $made
  clock
  if [ -n "$new" ]; then
    put "begin $epoch $# $$ $up $boot" 1 "$epoch" $# $$ "${up%.*}" "1${up#*.}" $boot_numbers
  else
    put "resume $$ $up $boot" 2 $$ "${up%.*}" "1${up#*.}" $boot_numbers
    [ -z "$open" ] || settle $open
  fi
  echo "$$" >"$B/started"
  find_files 2>/dev/null
  find_others 2>/dev/null
  snapshot
}

asked_to_end() { # sets ending where the phone is no longer ours, or the host says so
  holder=''
  [ -r "$lease" ] && read -r holder <"$lease"
  if [ "$holder" != "$epoch" ]; then ending=lease && return; fi
  if [ -e "$B/stop" ] || [ -e "$B/kill" ]; then ending=stopped && return; fi
  return 1
}

t() { # ID DEADLINE ENVCOUNT NAME=VALUE... WORD...
  index=$((index + 1)) cores=$mask mask=''
  [ -z "$ending" ] || return 0
  id=$1 limit=$2
  shift 2
  [ -d "$B/out/$id" ] && return 0
  case $lost in *" $id "*) return 0 ;; esac
  gate
  asked_to_end && return 0
  open_log "$id"
  clock
  began=$up before=$snap
  put "start $index $id $before $up" 3 $index "$before" "${up%.*}" "1${up#*.}"
  {
    cd "$B/part/$id" || exit 126
    left=$1
    shift
    while [ "$left" -gt 0 ]; do
      export "$1"
      shift
      left=$((left - 1))
    done
    case $cores in
      '') exec $session "$@" ;;
      *) [ "$pin" = none ] || exec $session $pin "$cores" "$@" ;;
    esac
    echo "orch: cores can't be chosen: this phone has no taskset" >&2
    exit 125
  } >"$B/part/$id/stdout" 2>"$B/part/$id/stderr" </dev/null &
  pid=$!
  guard $pid "$limit" "$id"
  from=$start word=exited
  placed $pid >"$B/part/$id/process" 2>/dev/null
  wait $pid
  code=$?
  if runs $pid "$from"; then # `wait` also returns when somebody stopped the process: its status is then gone for good
    while runs $pid "$from"; do sleep 1; done
    code=-
  fi
  clock
  ended=$up
  kill -KILL -$pid 2>/dev/null # what it left behind would disturb the next one
  if [ -e "$B/over" ]; then
    read -r who why <"$B/over"
    [ "$who" = "$id" ] && word=$why
  fi
  close_log "$id" $pid
  snapshot
  if [ $code = - ]; then
    put "lost $index $id" 7 $index
    lost="$lost$id "
    return 0
  fi
  echo "$code $word $index $before $snap $began $ended ." >"$B/part/$id/rc"
  $rename "$B/part/$id" "$B/out/$id"
  put_end $word $index "$id" $code "$snap" "$ended"
}

# --- the block ---

boot=''
for f in "$root/proc/sys/kernel/random/boot_id" /proc/sys/kernel/random/boot_id; do
  [ -z "$boot" ] && [ -r "$f" ] && read -r boot <"$f"
done
case $boot in
  *[!0-9a-f-]*) boot='' ;;
  ????????-????-????-????-????????????) ;;
  *) boot='' ;;
esac
boot=${boot:-00000000-0000-0000-0000-000000000000}
boot_numbers='' left=$boot
while [ -n "$left" ]; do # groups of four hex digits: 16 bits fit every shell
  left=${left#-}
  tail=${left#????}
  boot_numbers="$boot_numbers $((0x${left%"$tail"}))"
  left=$tail
done
stat_of $$ && [ -r /proc/uptime ] || refuse "no /proc"
mine=$start own_name=$name
check_lease
take_lock
new=1 open=''
if [ -s "$B/journal" ]; then
  new=''
  end_leftovers
  recover
fi
: >"$B/current"
watch &
dog=$!
stat_of $dog
echo "$$ $mine $boot $dog $start" >"$B/pid"
session=''
[ "$group" = $dog ] || case $(command -v setsid) in '') ;; *) session=setsid ;; esac

. "$B/list"

ending=${ending:-done}
clock
sync &
guard $! 30 .sync
wait $!
end_by KILL $dog
stat_of $$
if [ "$group" = $$ ]; then # the watchdog's `sleep`, where it has no group of its own
  trap '' TERM
  kill -TERM -$$ 2>/dev/null
fi
clock
case $ending in done) n=1 ;; stopped) n=2 ;; *) n=3 ;; esac
put "finish $ending $up" 8 $n "${up%.*}" "1${up#*.}"
