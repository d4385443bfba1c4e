# The collectors that cost no process of their own: one awk reads for all of them.

# What the sampler is to read for way $2 of job $1, to file $4, at most $3 bytes. Files in /sys may exist and not be
# readable; mawk dies of that, so each is tried. The network of a target is read through it, under the usual names.
spec() {
  eval "e_=\$J$1_$2_every o_=\$J$1_$2_once f_=\$J$1_$2_paths"
  printf 'J %s %s %s %s %s %s\n' "$1" "$e_" "$o_" "$secs" "$3" "$4"
  set -f
  for y_ in $f_; do
    set +f
    case $y_ in
      /sys/*)
        for p_ in $y_; do
          x_=
          { read -r x_ <"$p_"; } 2>/dev/null || [ -n "$x_" ] || continue
          printf 'F %s %s\n' "$1" "$p_"
        done ;;
      /proc/net/*)
        for p_ in $y_; do
          if [ -n "$NETPID" ]; then echo "N $1 /proc/$NETPID${p_#/proc} $p_"; else echo "F $1 $p_"; fi
        done ;;
      *) printf "F $1 %s\n" $y_ ;;
    esac
  done
  set +f
}

# The sampler for the jobs `n:w ...`. Without a directory, for one job, its output kept in memory.
sampled() {
  trap '' INT
  max=0
  AWKV="-v main=/proc/$MAIN/stat -v frac=$FRAC"
  for x in "$@"; do
    n=${x%:*}
    w=${x#*:}
    eval "id=\$J${n}_id secs=\$J${n}_secs cap=\$J${n}_cap"
    running "$id"
    [ "$secs" -le "$max" ] || max=$secs
    if [ -n "$DIR" ]; then
      spec "$n" "$w" "$cap" "$DIR/s/$n" >>"$DIR/t/spec.$1"
      continue
    fi
    [ "$cap" -le "$PIPE_BYTES" ] || cap=$PIPE_BYTES
    IN=$(spec "$n" "$w" "$cap" /dev/stdout)
  done
  proc self
  cpu_=$CPU
  up
  O_T0=$CS
  grace=15
  if [ -z "$DIR" ]; then
    CU_AWK=$SAMPLER
    export CU_AWK
    capture "$max" "$PRE${NL}exec $T_awk $AWKV -v nap='$T_sleep' \"\$CU_AWK\""
    sampled_end "$n" "$w"
    return
  fi
  $T_mkdir -p "$DIR/s"
  printf '%s\n' "$SAMPLER" >"$DIR/t/sampler.awk"
  n_=0
  again=
  sn=$n
  while :; do
    sampler "$1" "$again"
    [ "$O_EXIT" = 2 ] && [ "$n_" -lt 20 ] && [ -e "$DIR/go" ] || break
    # A file could be opened and not read. Those that cannot now are left out from here on.
    n_=$((n_ + 1))
    again="-v begun=$O_T0"
    while read -r k_ v_ f_; do
      x_=
      y_=$f_
      [ "$k_" != N ] || y_=${f_%% *}
      [ "$k_" = J ] || { read -r x_ <"$y_"; } 2>/dev/null || [ -n "$x_" ] || [ ! -e "$y_" ] || continue
      echo "$k_ $v_ $f_"
    done <"$DIR/t/spec.$1" >"$DIR/t/spec.new.$1"
    $T_mv -f "$DIR/t/spec.new.$1" "$DIR/t/spec.$1"
  done
  up
  O_T1=$CS
  proc self
  all_cpu=$(((CPU - cpu_) * 1000 / TCK))
  all_exit=$O_EXIT
  $T_mkdir -p "$DIR/o"
  sizes raw "$DIR"/s/*
  total_=$raw_0
  if [ -n "$PACKF" ]; then
    $NI $PACKF "$DIR"/s/* 2>/dev/null || ENC=identity PACKX=
  fi
  SHIP=
  key=$1
  for x in "$@"; do sampled_one "${x%:*}" "${x#*:}" "$key"; done
  ship
}

# One life of the sampler whose files are named by $1; $2 is told to awk.
sampler() {
  (
    cd "$DIR/s" || exit 1
    up
    CULPRIT_JOB=$RUN/sampler/ CU_L=$DIR/l/s$sn CU_M=$MYPGRP CU_CAGE=$CAGE CU_F=0 CU_V=
    CU_LINE="$((O_T0 + max * 100 + 1500)) 9000000000000 INT sampler"
    export CULPRIT_JOB CU_L CU_M CU_CAGE CU_F CU_V CU_LINE
    exec $SID $NI $SH -c "$PRE${NL}exec $T_awk $AWKV $2 -v stats=1 -v go='$DIR/go' -v nap='$T_sleep' -f '$DIR/t/sampler.awk'" \
      <"$DIR/t/spec.$1" >"$DIR/t/stats.$1" 2>"$DIR/t/s.err.$1" 3<&- 4>&- 5>&- 6>&- 9<&-
  )
  O_EXIT=$?
  $T_rm -f "$DIR/l/s$sn"
}

# Bytes of the files, into $1_<name> and their sum into $1_0.
sizes() {
  y_=$1
  shift
  eval "${y_}_0=0"
  while read -r b_ p_; do
    [ -n "$b_" ] || continue
    case $p_ in total | '') p_=0 ;; esac
    p_=${p_##*/}
    eval "${y_}_${p_%%.*}=$b_"
    [ $# -gt 1 ] || eval "${y_}_0=$b_"
  done <<X
$($T_wc -c "$@" 2>/dev/null)
X
}

# Decides on sampled job $1, way $2, of the sampler named by $3; its outcome goes to a file.
sampled_one() {
  n=$1
  eval "id=\$J$1_id cap=\$J$1_cap secs=\$J$1_secs O_WAY=\$J$1_$2_name show_=\$J$1_$2_shows O_BYTES=\${raw_$1-0}"
  O_EXIT=$all_exit O_PARTS=0 O_SIG=
  why "s$sn"
  gone_=0
  while read -r j_ x_ x_ v_ x_; do
    [ "$j_" = "$n" ] || continue
    [ "$v_" = 0 ] || WHY=bytes
    gone_=$x_
  done <"$DIR/t/stats.$3"
  verdict
  [ "$gone_" = 0 ] || [ -n "$REASON" ] || REASON="reason.target_gone pid=$NETPID"
  if [ "$O_BYTES" -gt 0 ]; then O_PARTS=1; elif [ "$STATE" = done ]; then STATE=failed REASON=reason.no_data; fi
  e_=
  ! [ -s "$DIR/t/s.err.$3" ] || e_=$($T_tail -c 1024 "$DIR/t/s.err.$3" | $T_tr -d '\000')
  O_CPU=0
  [ "$total_" = 0 ] || O_CPU=$((all_cpu * O_BYTES / total_))
  outcome_fields "$STATE"
  said="argv $show_${NL}version $T_awk$NL${REASON:+reason $REASON$NL}stderr$NL$e_"
  printf %s "$said" >"$DIR/o/$n"
  eval "S_fields_$n=\$FIELDS S_len_$n=${#said} S_full_$n=$COMPLETE"
  SHIP="$SHIP $n"
}

# Sends the parts and outcomes of the jobs in SHIP, with a handful of processes for all of them.
ship() {
  sizes len "$DIR"/s/*
  sums "$DIR"/s/* "$DIR"/o/*
  echo >"$DIR/t/nl"
  set --
  for n in $SHIP; do
    eval "id=\$J${n}_id raw_=\${raw_$n-0} len_=\${len_$n-0} f_=\$S_full_$n o_=\$S_fields_$n l_=\$S_len_$n"
    if [ "$raw_" -gt 0 ]; then
      enc_=identity
      y_=$DIR/s/$n
      [ ! -f "$y_$PACKX" ] || { y_=$y_$PACKX enc_=$ENC; }
      eval "SUM=\${SUM_s_$n:-sha256=-}"
      printf 'CULPRIT1 kind=part id=%s part=samples len=%s %s enc=%s raw=%s complete=%s\n' \
        "$id" "$len_" "$SUM" "$enc_" "$raw_" "$f_" >"$DIR/t/h.$n"
      set -- "$@" "$DIR/t/h.$n" "$y_" "$DIR/t/nl"
    fi
    eval "SUM=\${SUM_o_$n:-sha256=-}"
    printf 'CULPRIT1 kind=outcome id=%s part=- len=%s %s enc=identity raw=%s %s\n' \
      "$id" "$l_" "$SUM" "$l_" "$o_" >"$DIR/t/g.$n"
    set -- "$@" "$DIR/t/g.$n" "$DIR/o/$n" "$DIR/t/nl"
  done
  take
  $T_cat "$@" >&4
  give
  up
  for n in $SHIP; do
    eval "id=\$J${n}_id o_=\$S_fields_$n"
    o_=${o_#state=}
    say "progress $id ${o_%% *} $(((CS - BEGUN) * 10))"
  done
}

# The sums of the files, each into SUM_<directory>_<name>.
sums() {
  y_=$SHA
  [ -n "$SHA" ] || y_=$T_cksum
  [ -n "$y_" ] || return 0
  while read -r h_ p_; do
    x_=${p_##*/}
    p_=${p_%/*}
    if [ -n "$SHA" ]; then h_="sha256=$h_"; else h_="sha256=- cksum=$h_"; fi
    [ -z "$x_" ] || eval "SUM_${p_##*/}_${x_%%.*}=\$h_"
  done <<X
$($y_ "$@" 2>/dev/null)
X
}
