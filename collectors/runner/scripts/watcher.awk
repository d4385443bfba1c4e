# The one process behind what waits on a host: it keeps the last minutes of some files, and looks once a second whether
# something has begun or has crossed its threshold. stdin: `R <seconds> <bytes>` for the ring, `F <path>` for each of
# its files, `O <name>` for a piece that an earlier life left, and `C <kind> <op> <limit> <hits> <of> <key>` for each
# condition. Says on stdout: `watch <boottime> <cpu_ms> <rss_kb> <ring_bytes> <value> ...` every five seconds (times in
# hundredths), and `fire <condition> <boottime> <value>` as soon as one holds in `hits` of its last `of` readings. It may
# fire again once it held in none of them.
# v: go = a file whose absence means "stop"; main, guard = pids whose cost is counted too; tck = ticks a second;
# nap, rm = how these are run; globs = where containers have their control groups; names = asks engines for a name.
function now(  u) {
  u = "0"
  getline u < "/proc/uptime"
  close("/proc/uptime")
  sub(/ .*/, "", u)
  sub(/\./, "", u)
  return u
}
function gone(f,  l, k) {
  k = (getline l < f)
  close(f)
  return k < 0
}
# The text of a file; it is read once a tick.
function body(f,  l, k) {
  if (read_at[f] == tick) return text[f]
  read_at[f] = tick
  l = ""
  k = (getline l < f)
  close(f)
  return text[f] = (k > 0 ? l : "")
}
# The number behind a name that begins a line; empty where there is none.
function named(s, name,  at) {
  at = index("\n" s, "\n" name)
  if (!at) return ""
  s = substr(s, at + length(name))
  if (s !~ /^[ \t:=]/) return ""
  sub(/^[ \t:=]+/, "", s)
  return (s ~ /^[0-9]/) ? s + 0 : ""
}
# A column of a table of two lines, as /proc/net/netstat has them: `Tcp.RetransSegs`.
function column(s, key,  group, n, i, j, row, head, cell) {
  group = key
  sub(/\..*/, ":", group)
  sub(/^[^.]*\./, "", key)
  n = split(s, row, "\n")
  for (i = 1; i < n; i++) {
    if (index(row[i], group) != 1) continue
    split(row[i], head, " ")
    split(row[i + 1], cell, " ")
    for (j = 2; j in head; j++) if (head[j] == key) return cell[j] + 0
    i++
  }
  return ""
}
function hex(s,  i, v) {
  for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
  return v
}
function dropped(s,  n, i, row, cell, all) {
  n = split(s, row, "\n")
  for (i = 1; i <= n; i++) if (split(row[i], cell, " ") > 2) all += hex(cell[2])
  return n ? all : ""
}
function stalled(resource, which,  s, at) {
  s = body("/proc/pressure/" resource)
  at = index("\n" s, "\n" which " ")
  if (!at) return ""
  s = substr(s, at)
  sub(/^[^\n]*total=/, "", s)
  return s + 0
}
# Shares of the last second out of the first line of /proc/stat: all but idle and waiting, or stolen.
function processors(i, which,  w, sum, part, was) {
  if (split(body("/proc/stat"), w, " ") < 9) return ""
  sum = w[2] + w[3] + w[4] + w[5] + w[6] + w[7] + w[8] + w[9]
  part = (which == "steal_pct") ? w[9] : sum - w[5] - w[6]
  was = whole[i]
  whole[i] = sum
  return (was == "") ? step(i, part, "") : step(i, part, sum - was)
}
# How much a counter grew, per `base`.
function step(i, v, base,  was, known) {
  known = (i in before)
  was = before[i]
  before[i] = v
  if (v == "" || !known || was == "" || v < was || base <= 0) return ""
  return (v - was) / base
}
# Whether a control group was begun anew: it has processes, and none of those that it had.
function begun(i, path,  s, n, j, p, kept, c) {
  s = ""
  for (c = mounts; c > 0 && s == ""; c--) s = body("/sys/fs/cgroup" mount[c] path "/cgroup.procs")
  n = split(s, p, "\n")
  kept = 0
  for (j = 1; j <= n; j++) if (p[j] != "" && index(members[i], " " p[j] " ")) kept = 1
  c = (s != "" && !kept && i in members)
  members[i] = " "
  for (j = 1; j <= n && j <= 64; j++) if (p[j] != "") members[i] = members[i] p[j] " "
  return c + 0
}
# How many processes of that name began. Only numbers that were given out in the last two ticks are looked at, for a
# process has the name of its parent until it has become another program.
function processes(i, name,  w, last, from, p, l, found, n) {
  split(body("/proc/loadavg"), w, " ")
  last = w[5] + 0
  if (!(i in pid_0)) { pid_0[i] = pid_1[i] = last; return 0 }
  from = pid_1[i]
  if (from > last) from = 300
  if (last - from > 4000) from = last - 4000
  for (p = from + 1; p <= last; p++) {
    if ((i, p) in met) continue
    l = ""
    if ((getline l < ("/proc/" p "/stat")) > 0 && index(l, " (" name ") ")) { met[i, p] = 1; found++ }
    close("/proc/" p "/stat")
  }
  pid_1[i] = pid_0[i]
  pid_0[i] = last
  return found + 0
}
# How many containers of that name or id began, out of what the shell listed while we slept.
function containers(i, name,  n, j, d, id, s, found, cmd) {
  n = split(listed, d, "\n")
  for (j = 1; j <= n; j++) {
    id = d[j]
    if (id == "" || (i, id) in seen) continue
    seen[i, id] = 1
    if (!first_list[i]) continue
    s = ""
    cmd = names " " id
    if (id !~ ("^" name)) { cmd | getline s; close(cmd); gsub(/[\n\/]/, "", s) } else s = name
    if (s == name) found++
  }
  if (listed != "" || tick > 0) first_list[i] = 1
  return found + 0
}
function value(i,  k, s, w) {
  k = kind[i]
  if (k == "stall_pct") { split(key[i], w, "."); s = stalled(w[1], w[2]); return step(i, s, (t - then) * 100) }
  if (k == "load1") { split(body("/proc/loadavg"), w, " "); return w[1] + 0 }
  if (k == "running") return named(body("/proc/stat"), "procs_running")
  if (k == "blocked") return named(body("/proc/stat"), "procs_blocked")
  if (k == "busy_pct" || k == "steal_pct") { s = processors(i, k); return (s == "") ? "" : s * 100 }
  if (k == "available_pct") {
    s = named(body("/proc/meminfo"), "MemTotal")
    return s ? named(body("/proc/meminfo"), "MemAvailable") * 100 / s : ""
  }
  if (k == "vm_per_s") return step(i, named(body("/proc/vmstat"), key[i]), (t - then) / 100)
  if (k == "tcp_per_s") {
    s = column(body((key[i] ~ /^Tcp\./) ? "/proc/net/snmp" : "/proc/net/netstat"), key[i])
    return step(i, s, (t - then) / 100)
  }
  if (k == "softnet_drops_per_s") return step(i, dropped(body("/proc/net/softnet_stat")), (t - then) / 100)
  if (k == "group_memory_pct") return filled(key[i])
  if (k == "group_start" || k == "unit_start") return begun(i, key[i])
  if (k == "process_start") return processes(i, key[i])
  if (k == "container_start") return containers(i, key[i])
  return ""
}
function filled(path,  a, b) {
  a = body("/sys/fs/cgroup" path "/memory.current")
  b = body("/sys/fs/cgroup" path "/memory.max")
  if (a == "") {
    a = body("/sys/fs/cgroup/memory" path "/memory.usage_in_bytes")
    b = body("/sys/fs/cgroup/memory" path "/memory.limit_in_bytes")
  }
  return (a != "" && b + 0 > 0) ? a * 100 / b : ""
}
function look(i,  v, hit, n, j) {
  v = value(i)
  shown[i] = (v == "") ? "-" : sprintf("%.6g", v)
  hit = (v != "" && (op[i] == "over" ? v >= limit[i] : v <= limit[i]))
  history[i] = substr(hit history[i], 1, of[i])
  for (j = 1; j <= length(history[i]); j++) n += substr(history[i], j, 1)
  # Each start counts, however soon it follows the last one.
  if (n >= hits[i] && (!on[i] || kind[i] ~ /_start$/)) {
    on[i] = 1
    print "fire " i " " t " " shown[i]
    fflush()
  } else if (n == 0) on[i] = 0
}
# The next piece begins when the last one is full or has lasted for a quarter of what is to be kept. Names grow with
# time; the oldest goes when there are five.
function piece() {
  if (at_piece != "" && size[at_piece] + last_tick <= room && t - piece_began < quarter) return
  if (at_piece != "") close(at_piece)
  at_piece = "r." sprintf("%010d", t / 100)
  while (at_piece in size) at_piece = at_piece "a"
  piece_began = t
  size[at_piece] = 0
  order[++newest] = at_piece
  if (newest - oldest > 5) {
    doomed = doomed " " order[++oldest]
    ring -= size[order[oldest]]
    delete size[order[oldest]]
    delete order[oldest]
  }
}
function keep(  i, l, k, u, n) {
  piece()
  last_tick = 0
  for (i = 1; i <= files && last_tick < room; i++) {
    k = (getline l < file[i])
    if (k > 0) {
      if (i % 8 == 1 || u == "") u = now()
      if (l ~ /(^|\n)@/) { gsub(/\n@/, "\n@@", l); if (l ~ /^@/) l = "@" l }
      if (l !~ /\n$/) l = l "\n"
      l = "@ " tick " " u "0000000 " file[i] "\n" l
      n = length(l)
      printf "%s", l > at_piece
      size[at_piece] += n
      last_tick += n
      ring += n
    }
    close(file[i])
  }
  fflush(at_piece)
}
function cost(  n, i, p, l, w, s) {
  l = ""
  getline l < "perf.pid"
  close("perf.pid")
  sub(/[^0-9].*/, "", l)
  n = split("self " main " " guard " " l, p, " ")
  cpu_ms = rss_kb = 0
  for (i = 1; i <= n; i++) {
    l = ""
    getline l < ("/proc/" p[i] "/stat")
    close("/proc/" p[i] "/stat")
    sub(/^.*\) /, "", l)
    split(l, w, " ")
    cpu_ms += (w[12] + w[13] + w[14] + w[15]) * 1000 / tck
    s = ""
    getline s < ("/proc/" p[i] "/status")
    close("/proc/" p[i] "/status")
    rss_kb += named(s, "VmRSS")
  }
}
function rest(  cmd, l) {
  cmd = (doomed == "") ? "" : rm doomed "; "
  doomed = ""
  if (!wants_list) { system(cmd "exec " nap " 1"); return }
  cmd = cmd nap " 1; for d in " globs "; do [ -d \"$d\" ] && echo \"$d\"; done"
  l = ""
  cmd | getline l
  close(cmd)
  gsub(/[^\n]*\//, "", l)
  gsub(/(docker-|libpod-|cri-containerd-|crio-|\.scope)/, "", l)
  listed = l
}
BEGIN {
  while ((getline l) > 0) {
    n = split(l, w, " ")
    if (w[1] == "R") { quarter = w[2] * 25; room = w[3] / 5 }
    else if (w[1] == "F") file[++files] = w[2]
    else if (w[1] == "O") doomed = doomed " " w[2]
    else if (w[1] == "C") {
      kind[++rules] = w[2]; op[rules] = w[3]; limit[rules] = w[4]; hits[rules] = w[5]; of[rules] = w[6]; key[rules] = w[7]
      if (w[2] == "container_start") wants_list = 1
    }
  }
  RS = "\001"
  mounts = split(" /systemd /unified /pids /memory /cpu", mount, " ") + 1
  mount[mounts] = ""
  then = t = now()
  for (tick = 0; ; tick++) {
    if (gone("/proc/" main "/stat")) exit 1
    if (gone(go)) exit 0
    t = now()
    for (i = 1; i <= rules; i++) look(i)
    if (files) keep()
    if (tick % 5 == 0) {
      cost()
      s = "watch " t " " sprintf("%.0f %.0f %.0f", cpu_ms, rss_kb, ring)
      for (i = 1; i <= rules; i++) s = s " " shown[i]
      print s
      fflush()
    }
    then = t
    rest()
  }
}
