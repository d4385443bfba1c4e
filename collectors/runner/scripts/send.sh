# Send finished jobs from the directory, with few processes for many jobs.

# Run command $2 on the files $3 and write its number for each file into $1_<number of the file>.
count_files() {
  y_=$1
  i_=1
  c_=$2
  set -- $3
  for p_; do
    eval "${y_}_$i_="
    i_=$((i_ + 1))
  done
  i_=1
  v_=
  # A shell reads a here-document byte by byte, and the output of a command in blocks. A line is a number, perhaps
  # other words, and the path.
  for p_ in $([ $# = 0 ] || $c_ "$@" 2>/dev/null); do
    case $p_ in
      /* | '*/'*) ;;
      *)
        v_=${v_:-$p_}
        continue ;;
    esac
    while [ $# -gt 0 ] && [ "$1" != "${p_#'*'}" ]; do
      i_=$((i_ + 1))
      shift
    done
    [ $# -gt 0 ] || break
    eval "${y_}_$i_=\$v_"
    v_=
  done
}

# Send those of the jobs in $@ that have a complete outcome. Files of more than 256 bytes are compressed first, which
# replaces the original.
send_finished() {
  READY= ALL= TEXTS= BIG= SENT=
  for n; do
    { read -r m_ && read -r l_ && read -r x_; } 2>/dev/null <"$DIR/r/$n" && [ "$x_" = . ] || continue
    y_=
    for f_ in $l_; do y_="$y_ $DIR/$f_"; done
    eval "M_$n=\$m_ L_$n=\$y_"
    READY="$READY $n" ALL="$ALL$y_" TEXTS="$TEXTS $DIR/o/$n"
  done
  [ -n "$READY" ] || return 0
  FIRST=${READY# }
  FIRST=${FIRST%% *}
  count_files raw "$T_wc -c" "$ALL"
  i=0
  for f_ in $ALL; do
    i=$((i + 1))
    eval "x_=\${raw_$i:-0}"
    [ "$x_" -le 256 ] || BIG="$BIG $f_"
  done
  [ -z "$PACKF" ] || [ -z "$BIG" ] || $NI $PACKF $BIG 2>/dev/null
  for f_ in $ALL; do
    [ -f "$f_" ] || f_=$f_$PACKX
    SENT="$SENT $f_"
  done
  count_files len "$T_wc -c" "$SENT"
  SUMMER=${SHA:-$T_cksum} SUMMED="sha256="
  [ -n "$SHA" ] || SUMMED="sha256=- cksum="
  [ -z "$SUMMER" ] || count_files sum "$SUMMER" "$SENT$TEXTS"
  set -- $SENT
  write_headers "$@"
  acquire_output
  if [ -n "$WHOLE" ]; then $T_cat $OUT >&4; else send_from_memory; fi
  release_output
  read_uptime
  OUT=
  for n in $READY; do
    eval "id=\$J${n}_id m_=\$M_$n"
    log "progress $id ${m_%% *} $(((CS - BEGUN) * 10))"
    OUT="$OUT $DIR/c/$n $DIR/s/$n $DIR/s/$n$PACKX $DIR/o/$n $DIR/r/$n"
    for f_ in "$DIR/t/$n".*; do OUT="$OUT $f_"; done
  done
  $T_rm -rf $OUT
}

# Write the headers of all frames to files, with a copy in H_<number> in case the write fails. OUT lists what is sent;
# the arguments are the files of the parts as they are sent.
write_headers() {
  OUT= WHOLE=1 i=0
  k=$#
  { echo >"$DIR/t/$FIRST.nl"; } 2>/dev/null || WHOLE=
  for n in $READY; do
    eval "id=\$J${n}_id m_=\$M_$n l_=\$L_$n"
    O_BYTES=0 O_PARTS=0
    for f_ in $l_; do
      i=$((i + 1))
      eval "raw_=\${raw_$i:-0} len_=\$len_$i SUM=\${sum_$i-}"
      enc_=identity
      [ -n "$len_" ] || len_=$(($($T_wc -c <"$1")))
      [ "$1" = "$f_" ] || enc_=$ENC
      x_=${m_% *}
      build_part_header "$id" "$f_" "$len_" "${SUM:+$SUMMED}${SUM:-sha256=-}" "$enc_" "$raw_" "${x_##* }"
      write_header "$i" "$1"
      O_BYTES=$((O_BYTES + raw_))
      O_PARTS=$((O_PARTS + 1))
      shift
    done
    k=$((k + 1))
    eval "SUM=\${sum_$k-}"
    build_outcome_header "$id" $m_
    write_header "$k" "$DIR/o/$n"
  done
}

build_outcome_header() {
  O_METHOD=$3 O_EXIT=$4 O_SIG=$5 O_T0=$6 O_T1=$7 O_CPU=$8
  build_outcome_fields "$2"
  HEAD="CULPRIT1 kind=outcome id=$1 part=- len=${10} ${SUM:+$SUMMED}${SUM:-sha256=-} enc=identity raw=${10} $FIELDS"
}

write_header() {
  eval "H_$1=\$HEAD"
  { printf '%s\n' "$HEAD" >"$DIR/t/$FIRST.head.$1"; } 2>/dev/null || WHOLE=
  OUT="$OUT $DIR/t/$FIRST.head.$1 $2 $DIR/t/$FIRST.nl"
}

# The directory is full: send the headers from memory.
send_from_memory() {
  set -- $OUT
  while [ $# -gt 2 ]; do
    eval "printf '%s\n' \"\$H_${1##*.}\"" >&4
    $T_cat "$2" >&4
    echo >&4
    shift 3
  done
}
