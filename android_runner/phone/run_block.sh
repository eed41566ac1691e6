#!/system/bin/sh
# Runs one block of trials on a phone, alone.
#
#   setsid sh run_block.sh BLOCKDIR EPOCH </dev/null >/dev/null 2>&1 &
#
# For Android 8's mksh (R55: integers of 32 bits, no printf) and toybox (0.7.4), and any POSIX shell. What happens per
# trial uses builtins only, as starting a process costs milliseconds on a phone: one process per trial, the trial.
# ORCH_ROOT is the root prefix of a virtual phone without namespaces, empty elsewhere. In BLOCKDIR:
#
#   list      sourced: `begin ID...`, then a line `t ID DEADLINE ENVCOUNT NAME=VALUE... WORD...` per trial; a line
#             `l TAG...` before it: keep what the phone's log says under these tags meanwhile, in the trial's `logcat`;
#             a line `a MASK` (hex) before it: on these cores only, or not at all where there is no taskset
#   journal   `SEQ EVENT FIELDS... CHECK` a line; CHECK chains over all numbers of all lines so far (put, below)
#   vitals    what does not change, then per snapshot `== N` and lines `PATH:VALUE`; N is SEQ when it was taken
#   pid       PID START BOOTID of this script, PID START of its watchdog; START is field 22 of /proc/PID/stat
#   current   PID START DEADLINE ID UPTIME of the process that runs
#   over      ID WORD: the watchdog ends this trial, and why
#   logger    PID START of the `logcat` that runs beside the trial
#   beat      grows every second while this script lives
#   started, refused   the answer to who started it;   stop, kill   made by the host
#   part/ID   working directory of a trial; renamed to out/ID when it has ended, `rc` in it says how
root=${ORCH_ROOT-}
case $1 in "$root"/*) B=$1 ;; *) B=$root$1 ;; esac
epoch=$2
lease=${B%/blocks/*}/lease
cd "$B" || exit 1
exec </dev/null >>"$B/log" 2>&1
set -m # each background job gets a process group of its own; dash and busybox can't without a terminal
seq=0 chain=0 index=0 snap=0 asked=-10 ending='' lost=' ' tags='' logger='' mask='' pin=''
case $(command -v rename) in rename) rename=rename ;; *) rename=mv ;; esac

clock() { read -r up idle </proc/uptime; }

stat_of() { # PID: sets state, group, start; fails when there is no such process
  line='' state='' group='' start=-
  [ -r "/proc/$1/stat" ] || return 1
  while read -r piece; do line="$line$piece "; done 2>/dev/null <"/proc/$1/stat"
  line=${line##*) }
  set -- $line
  state=$1 group=$3 start=${20-}
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

find_files() {
  files='' services='' loadavg=/proc/loadavg
  [ -r "$root$loadavg" ] && loadavg=$root$loadavg
  for f in "$root"/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq; do probe "${f#"$root"}"; done
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
  if ! { probe $f/capacity && probe $f/temp; }; then services=battery; fi
  command -v dumpsys >/dev/null || services=''
  case $(command -v getprop) in '') return ;; esac
  sdk=$(getprop ro.build.version.sdk)
  case $sdk in '' | *[!0-9]*) return ;; esac
  [ "$sdk" -ge 29 ] && command -v dumpsys >/dev/null && services="$services thermalservice"
}

ask() { # SERVICE: the lines of its dumpsys that matter; one that hangs is ended by the watchdog, and not asked again
  dumpsys "$1" >"$B/dump" 2>/dev/null &
  guard $! 10 .dumpsys
  wait $! || { services=${services#"$1"} && services=${services% "$1"}; }
  n=0
  while IFS= read -r line && [ $n -lt 60 ]; do
    case $line in
      *level:* | *temperature:* | *status:* | *health:* | *powered:* | *"Thermal Status"* | *Temperature\{*)
        echo "dumpsys-$1:$line"
        n=$((n + 1))
        ;;
    esac
  done <"$B/dump"
}

snapshot() { # between two trials: after the one, before the other
  snap=$seq
  clock
  {
    echo "== $snap"
    echo "/proc/uptime:$up $idle"
    echo "/proc/sys/kernel/random/boot_id:$boot"
    read -r value <"$loadavg" && echo "/proc/loadavg:$value"
    for f in $files; do
      value=''
      read -r value <"$root$f"
      [ -z "$value" ] || echo "$f:$value"
    done
    if [ -n "$services" ] && [ $((${up%.*} - asked)) -ge 10 ]; then
      asked=${up%.*}
      for f in $services; do ask "$f"; done
    fi
  } 2>/dev/null >>"$B/vitals"
}

# --- trials ---

guard() { # PID LIMIT ID: from now on the watchdog looks after this process
  stat_of "$1"
  echo "$1 $start $2 $3 ${up%.*}" >"$B/current"
}

watch() { # in the background for the whole list; outlives the script until the running trial has ended
  seen='' past=0 last=0
  while sleep 1; do
    alive=''
    runs $$ "$mine" && alive=1 && echo >>"$B/beat"
    pid='' from=''
    read -r pid from limit id since <"$B/current"
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

# --- cores ---

a() { # MASK: for the next trial; who sets it is asked for once
  mask=$1
  [ -z "$pin" ] || return 0
  case $(command -v taskset) in '') ;; *) pin=taskset && return ;; esac
  toybox taskset -p $$ >/dev/null 2>&1 && pin='toybox taskset' && return # more commands than it has links
  pin=none
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
  snapshot
}

t() { # ID DEADLINE ENVCOUNT NAME=VALUE... WORD...
  index=$((index + 1)) cores=$mask mask=''
  [ -z "$ending" ] || return 0
  id=$1 limit=$2
  shift 2
  [ -d "$B/out/$id" ] && return 0
  case $lost in *" $id "*) return 0 ;; esac
  holder=''
  [ -r "$lease" ] && read -r holder <"$lease"
  if [ "$holder" != "$epoch" ]; then ending=lease && return 0; fi
  if [ -e "$B/stop" ] || [ -e "$B/kill" ]; then ending=stopped && return 0; fi
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
mine=$start
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
