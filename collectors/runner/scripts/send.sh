# Sends what jobs have left in the directory: a handful of processes for many jobs at once.

# What command $2 says first about each of the files $3, into $1_<number of the file>.
told() {
  y_=$1
  i_=1
  c_=$2
  set -- $3
  for p_; do
    eval "${y_}_$i_="
    i_=$((i_ + 1))
  done
  i_=1
  while read -r h_ p_; do
    p_=${p_##*[ *]}
    while [ $# -gt 0 ] && [ "$1" != "$p_" ]; do
      i_=$((i_ + 1))
      shift
    done
    [ $# -gt 0 ] || break
    eval "${y_}_$i_=\$h_"
  done <<X
$([ $# = 0 ] || $c_ "$@" 2>/dev/null)
X
}

# Of the jobs given, those that have left a whole outcome. Files of more than 256 bytes are packed first: the original
# of one that was packed is gone.
ship() {
  GO= ALL= TEXTS= BIG= SENT=
  for n; do
    { read -r m_ && read -r l_ && read -r x_; } 2>/dev/null <"$DIR/r/$n" && [ "$x_" = . ] || continue
    eval "M_$n=\$m_ L_$n=\$l_"
    GO="$GO $n" ALL="$ALL $l_" TEXTS="$TEXTS $DIR/o/$n"
  done
  [ -n "$GO" ] || return 0
  FIRST=${GO# }
  FIRST=${FIRST%% *}
  told raw "$T_wc -c" "$ALL"
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
  told len "$T_wc -c" "$SENT"
  SUMMER=${SHA:-$T_cksum} SUMMED="sha256="
  [ -n "$SHA" ] || SUMMED="sha256=- cksum="
  [ -z "$SUMMER" ] || told sum "$SUMMER" "$SENT$TEXTS"
  set -- $SENT
  headers "$@"
  take
  if [ -n "$WHOLE" ]; then $T_cat $OUT >&4; else slowly; fi
  give
  up
  OUT=
  for n in $GO; do
    eval "id=\$J${n}_id m_=\$M_$n"
    say "progress $id ${m_%% *} $(((CS - BEGUN) * 10))"
    OUT="$OUT $DIR/c/$n $DIR/s/$n $DIR/s/$n$PACKX $DIR/o/$n $DIR/r/$n"
    for f_ in "$DIR/t/$n".*; do OUT="$OUT $f_"; done
  done
  $T_rm -rf $OUT
}

# The headers of all frames, each into a file: H_<number> keeps it for the case that it could not be written. What is
# to be sent goes to OUT; the arguments are the files of the parts as they will be sent.
headers() {
  OUT= WHOLE=1 i=0
  k=$#
  { echo >"$DIR/t/$FIRST.nl"; } 2>/dev/null || WHOLE=
  for n in $GO; do
    eval "id=\$J${n}_id m_=\$M_$n l_=\$L_$n"
    O_BYTES=0 O_PARTS=0
    for f_ in $l_; do
      i=$((i + 1))
      eval "raw_=\${raw_$i:-0} len_=\$len_$i SUM=\${sum_$i-}"
      enc_=identity
      [ -n "$len_" ] || len_=$(($($T_wc -c <"$1")))
      [ "$1" = "$f_" ] || enc_=$ENC
      x_=${m_% *}
      part_header "$id" "$f_" "$len_" "${SUM:+$SUMMED}${SUM:-sha256=-}" "$enc_" "$raw_" "${x_##* }"
      head_ "$i" "$1"
      O_BYTES=$((O_BYTES + raw_))
      O_PARTS=$((O_PARTS + 1))
      shift
    done
    k=$((k + 1))
    eval "SUM=\${sum_$k-}"
    outcome_of "$id" $m_
    head_ "$k" "$DIR/o/$n"
  done
}

outcome_of() {
  O_WAY=$3 O_EXIT=$4 O_SIG=$5 O_T0=$6 O_T1=$7 O_CPU=$8
  outcome_fields "$2"
  HEAD="CULPRIT1 kind=outcome id=$1 part=- len=${10} ${SUM:+$SUMMED}${SUM:-sha256=-} enc=identity raw=${10} $FIELDS"
}

head_() {
  eval "H_$1=\$HEAD"
  { printf '%s\n' "$HEAD" >"$DIR/t/$FIRST.head.$1"; } 2>/dev/null || WHOLE=
  OUT="$OUT $DIR/t/$FIRST.head.$1 $2 $DIR/t/$FIRST.nl"
}

# The directory is full: headers come from memory.
slowly() {
  set -- $OUT
  while [ $# -gt 2 ]; do
    eval "printf '%s\n' \"\$H_${1##*.}\"" >&4
    $T_cat "$2" >&4
    echo >&4
    shift 3
  done
}
