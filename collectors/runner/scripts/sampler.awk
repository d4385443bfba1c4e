# Read the files of all sampled collectors in one process. stdin: `J <n> <every_s> <once> <secs> <cap> <out>` for each
# collector and `F <n> <path>` for each of its files, or `E <n> <path>` for a file that is read only first and last,
# or `N <n> <path> <name>` for a file of the target that is reported under another name, or `G <n> <pattern>` for a
# file of each process. Only those of processes need programs; one sleep per tick.
# v: many = commands of xargs and grep, parted by @; go = a file whose absence means "stop"; main = /proc/PID/stat of the runner; frac = sleep accepts fractions;
# begun = start time (hundredths of a second of boottime) after a restart, because mawk exits on a read error;
# share = the part of a CPU that it may use, beyond 0.1 s, because its priority is that of an ordinary program.
function now(  u) {
  u = "0"
  getline u < "/proc/uptime"
  close("/proc/uptime")
  sub(/ .*/, "", u)
  sub(/\./, "", u)
  return u
}
# Write complete lines, as many as fit below the cap.
function emit(j, s) {
  if (size[j] + length(s) > cap[j]) {
    over[j] = 1
    s = substr(s, 1, cap[j] - size[j])
    sub(/[^\n]*$/, "", s)
  }
  size[j] += length(s)
  printf "%s", s >> out[j]
}
# Read complete files: the record separator is a byte that none of them contains. Eight files share one time.
# Without `all`, settings are left out.
function sample(j, all,  i, f, k, l, t) {
  for (i = 1; i <= files[j] && !over[j]; i++) {
    f = file[j, i]
    if ((j, i) in ends && !all) continue
    if ((j, i) in pattern) { sample_processes(j, f); t = ""; continue }
    k = (getline l < f)
    if (k < 0 || !k && f ~ /^\/sys\//) { close(f); if ((j, i) in called) left[j] = 1; continue }
    if (i % 8 == 1 || t == "") t = now()
    emit(j, "@ " tick " " t "0000000 " (((j, i) in called) ? called[j, i] : f) "\n")
    if (!over[j]) hits[j]++
    while (k > 0 && !over[j]) {
      if (l ~ /(^|\n)@/) { gsub(/\n@/, "\n@@", l); if (l ~ /^@/) l = "@" l }
      if (l !~ /\n$/) l = l "\n"
      emit(j, l)
      k = (getline l < f)
    }
    close(f)
  }
  fflush(out[j])
}
# Read a file of each process. grep prints its path before each line, so no text of a process can pretend to be a path.
# Jobs that want the same file at the same tick get the same reading.
function sample_processes(j, f,  c, l, p, was, n, t) {
  if ((f, tick) in kept) {
    for (n = 1; n <= kept[f, tick] && !over[j]; n++) {
      if (reading[f, n] ~ /^@ /) hits[j]++
      emit(j, reading[f, n])
    }
    return
  }
  RS = "\n"
  split(many, w, "@")
  # One program where the files are few enough for a command.
  c = "set -- " f "; [ $# -gt 8000 ] || exec " w[2] " -sH \"\" $*; echo $*|" w[1] " " w[2] " -sH \"\""
  while (!over[j] && (c | getline l) > 0) {
    p = substr(l, 1, index(l, ":") - 1)
    l = substr(l, length(p) + 2) "\n"
    if (p != was) {
      if (n++ % 32 == 0) t = now()
      was = p
      hits[j]++
      keep_reading(f, "@ " tick " " t "0000000 " p "\n")
      emit(j, reading[f, last_kept])
    }
    if (l ~ /^@/) l = "@" l
    keep_reading(f, l)
    if (!over[j]) emit(j, l)
  }
  close(c)
  if (wanted[f] > 1 && !over[j]) kept[f, tick] = last_kept
  last_kept = 0
  RS = "\001"
}
# Keep a line while another job wants the same file, else only the last one.
function keep_reading(f, l) {
  if (wanted[f] > 1 || !last_kept) last_kept++
  reading[f, last_kept] = l
}
function gone(f,  l, k) {
  if (f == "") return 0
  k = (getline l < f)
  close(f)
  return k < 0
}
BEGIN {
  while ((getline l) > 0) {
    split(l, w, " ")
    j = w[2]
    if (w[1] == "J") {
      jobs++
      name[jobs] = j; every[j] = w[3] * 100; once[j] = w[4]; secs[j] = w[5] * 100; cap[j] = w[6]; out[j] = w[7]
      if (!step || every[j] < step) step = every[j]
    } else {
      sub(/^. [^ ]+ /, "", l)
      file[j, ++files[j]] = l
      if (w[1] == "E") ends[j, files[j]]
      if (w[1] == "G") { pattern[j, files[j]]; wanted[l]++ }
      if (w[1] == "N") { file[j, files[j]] = w[3]; called[j, files[j]] = w[4] }
    }
  }
  RS = "\001"
  t = now() + 0
  tick = begun ? int((t - begun) / step) + 1 : 0
  if (!begun) begun = t
  for (i = 1; i <= jobs; i++) {
    due[j = name[i]] = t
    if (begun + secs[j] > end) end = begun + secs[j]
  }
  for (; ; tick++) {
    if (gone(main)) exit 1
    stop = gone(go)
    wake = 0
    for (i = 1; i <= jobs; i++) {
      j = name[i]
      if (over[j] || ended[j]) continue
      t = now() + 0
      last = begun + secs[j]
      if (stop || t + 1 >= due[j] && t + 1 >= early) {
        if (!stop || once[j]) sample(j, rest == "" || t + 1 >= last)
        if (stop || t + 1 >= last) { ended[j] = 1; continue }
        if (once[j]) due[j] = last
        else {
          due[j] += every[j]
          if (due[j] <= t) due[j] = t + every[j]
          if (due[j] > last) due[j] = last
        }
      }
      if (!wake || due[j] < wake) wake = due[j]
    }
    if (!wake) break
    # CPU time of this process and its children, in ticks of USER_HZ: hundredths of a second (asm-generic/param.h).
    if (share) {
      getline l < "/proc/self/stat"
      close("/proc/self/stat")
      sub(/.*\) /, "", l)
      split(l, w, " ")
      early = begun + (w[12] + w[13] + w[14] + w[15] - 10) / share
    }
    if (early > end) early = end
    if (early > wake) wake = early
    rest = (wake - now()) / 100
    if (rest > 1) rest = 1
    if (!frac && ENVIRON["CULPRIT_PAUSE"] == "") rest = int(rest + 0.99)
    if (rest > 0 && !pause(rest)) system("exec " nap " " rest)
  }
  for (i = 1; i <= jobs; i++) {
    j = name[i]
    close(out[j])
    if (stats) printf "%s %d %d %d %d\n", j, size[j], hits[j], over[j] + 0, left[j] + 0
  }
}
