# Keep the last minutes of some files, and check once per second whether a process, unit or container started or a
# threshold was crossed. stdin: `R <seconds> <bytes>` for the look-back buffer, `F <path>` for each of its files,
# `O <name>` for a piece of an earlier process, and `C <kind> <op> <limit> <hits> <of> <key>` for each condition.
# stdout: `watch <boottime> <cpu_ms> <rss_kb> <buffer_bytes> <value> ...` every five seconds (times in hundredths), and
# `fire <condition> <boottime> <value>` when a condition holds in `hits` of its last `of` readings. It can fire again
# after it held in none of them.
# v: go = a file whose absence means "stop"; main, guard = pids whose cost is included; tck = ticks per second;
# nap, rm = commands; globs = control groups of containers; names = command that asks engines for a name.
function now(  u) {
  u = "0"
  getline u < "/proc/uptime"
  close("/proc/uptime")
  sub(/ .*/, "", u)
  sub(/\./, "", u)
  return u
}
function is_gone(f,  l, k) {
  k = (getline l < f)
  close(f)
  return k < 0
}
# Return the text of a file, read once per tick.
function read_text(f,  l, k) {
  if (f in read_at && read_at[f] == tick) return text[f]
  read_at[f] = tick
  l = ""
  k = (getline l < f)
  close(f)
  return text[f] = (k > 0 ? l : "")
}
# Return the number after a name at the start of a line; empty if there is none.
function number_of(s, name,  at) {
  at = index("\n" s, "\n" name)
  if (!at) return ""
  s = substr(s, at + length(name))
  if (s !~ /^[ \t:=]/) return ""
  sub(/^[ \t:=]+/, "", s)
  return (s ~ /^[0-9]/) ? s + 0 : ""
}
# Return a column of a two-line table as in /proc/net/netstat: `Tcp.RetransSegs`.
function table_column(s, key,  group, n, i, j, row, head, cell) {
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
function parse_hex(s,  i, v) {
  for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
  return v
}
function softnet_drops(s,  n, i, row, cell, all) {
  n = split(s, row, "\n")
  for (i = 1; i <= n; i++) if (split(row[i], cell, " ") > 2) all += parse_hex(cell[2])
  return n ? all : ""
}
function stall_us(resource, which,  s, at) {
  s = read_text("/proc/pressure/" resource)
  at = index("\n" s, "\n" which " ")
  if (!at) return ""
  s = substr(s, at)
  sub(/^[^\n]*total=/, "", s)
  return s + 0
}
# Return a share of the last second from the first line of /proc/stat: all but idle and iowait, or steal.
function cpu_share(i, which,  w, sum, part, was) {
  if (split(read_text("/proc/stat"), w, " ") < 9) return ""
  sum = w[2] + w[3] + w[4] + w[5] + w[6] + w[7] + w[8] + w[9]
  part = (which == "steal_pct") ? w[9] : sum - w[5] - w[6]
  was = whole[i]
  whole[i] = sum
  return (was == "") ? growth(i, part, "") : growth(i, part, sum - was)
}
# Return how much a counter increased, per `base`.
function growth(i, v, base,  was, had_value) {
  had_value = (i in before)
  was = before[i]
  before[i] = v
  if (v == "" || !had_value || was == "" || v < was || base <= 0) return ""
  return (v - was) / base
}
# Return whether a control group restarted: it has processes, and none of its earlier ones.
function has_restarted(i, path,  s, n, j, p, remaining, c) {
  s = ""
  for (c = mounts; c > 0 && s == ""; c--) s = read_text("/sys/fs/cgroup" mount[c] path "/cgroup.procs")
  n = split(s, p, "\n")
  remaining = 0
  for (j = 1; j <= n; j++) if (p[j] != "" && index(members[i], " " p[j] " ")) remaining = 1
  c = (s != "" && !remaining && i in members)
  members[i] = " "
  for (j = 1; j <= n && j <= 64; j++) if (p[j] != "") members[i] = members[i] p[j] " "
  return c + 0
}
# Return how many processes with that name started. Pids are read in the order in which the kernel assigns them, at most
# 4000 per tick: on a busy host a start is counted late and not missed. The pids of the last two ticks are read twice,
# because a process has the name of its parent until it executes another program.
function count_processes(i, name,  w, last, max, p, todo, count, k) {
  split(read_text("/proc/loadavg"), w, " ")
  last = w[5] + 0
  if (!(i in settled_pid)) { settled_pid[i] = newest_pid[i] = last; return 0 }
  max = read_text("/proc/sys/kernel/pid_max") + 0
  if (max < last) max = last
  p = settled_pid[i]
  for (todo = 4000; p != last && todo > 0; todo--) {
    p = (p + 1 < max) ? p + 1 : 300
    if (!((i, p) in counted_at) && is_process(p, name)) { counted_at[i, p] = tick; count++ }
  }
  settled_pid[i] = (p == last) ? newest_pid[i] : p
  newest_pid[i] = last
  for (k in counted_at) if (counted_at[k] < tick - 2) delete counted_at[k]
  return count + 0
}
# Return whether a pid is a process with that name, and not a thread: /proc has entries for threads too.
function is_process(p, name,  l, s) {
  if ((getline l < ("/proc/" p "/stat")) > 0 && index(l, " (" name ") ")) getline s < ("/proc/" p "/status")
  close("/proc/" p "/stat")
  close("/proc/" p "/status")
  return number_of(s, "Tgid") == p
}
# Return how many containers with that name or id started, from the list that the shell made during the last sleep.
function count_containers(i, name,  n, j, d, id, s, count, cmd) {
  n = split(listed, d, "\n")
  for (j = 1; j <= n; j++) {
    id = d[j]
    if (id == "" || (i, id) in seen) continue
    seen[i, id] = 1
    if (!first_list[i]) continue
    s = ""
    cmd = names " " id
    if (id !~ ("^" name)) { cmd | getline s; close(cmd); gsub(/[\n\/]/, "", s) } else s = name
    if (s == name) count++
  }
  if (listed != "" || tick > 0) first_list[i] = 1
  return count + 0
}
function take_reading(i,  k, s, w) {
  k = kind[i]
  if (k == "stall_pct") { split(key[i], w, "."); s = stall_us(w[1], w[2]); return growth(i, s, (t - then) * 100) }
  if (k == "load1") { split(read_text("/proc/loadavg"), w, " "); return w[1] + 0 }
  if (k == "running") return number_of(read_text("/proc/stat"), "procs_running")
  if (k == "blocked") return number_of(read_text("/proc/stat"), "procs_blocked")
  if (k == "busy_pct" || k == "steal_pct") { s = cpu_share(i, k); return (s == "") ? "" : s * 100 }
  if (k == "available_pct") {
    s = number_of(read_text("/proc/meminfo"), "MemTotal")
    return s ? number_of(read_text("/proc/meminfo"), "MemAvailable") * 100 / s : ""
  }
  if (k == "vm_per_s") return growth(i, number_of(read_text("/proc/vmstat"), key[i]), (t - then) / 100)
  if (k == "tcp_per_s") {
    s = table_column(read_text((key[i] ~ /^Tcp\./) ? "/proc/net/snmp" : "/proc/net/netstat"), key[i])
    return growth(i, s, (t - then) / 100)
  }
  if (k == "softnet_drops_per_s") return growth(i, softnet_drops(read_text("/proc/net/softnet_stat")), (t - then) / 100)
  if (k == "group_memory_pct") return memory_pct(key[i])
  if (k == "group_start" || k == "unit_start") return has_restarted(i, key[i])
  if (k == "process_start") return count_processes(i, key[i])
  if (k == "container_start") return count_containers(i, key[i])
  return ""
}
function memory_pct(path,  a, b) {
  a = read_text("/sys/fs/cgroup" path "/memory.current")
  b = read_text("/sys/fs/cgroup" path "/memory.max")
  if (a == "") {
    a = read_text("/sys/fs/cgroup/memory" path "/memory.usage_in_bytes")
    b = read_text("/sys/fs/cgroup/memory" path "/memory.limit_in_bytes")
  }
  return (a != "" && b + 0 > 0) ? a * 100 / b : ""
}
function evaluate(i,  v, hit, n, j) {
  v = take_reading(i)
  printed[i] = (v == "") ? "-" : sprintf("%.6g", v)
  hit = (v != "" && (op[i] == "over" ? v >= limit[i] : v <= limit[i]))
  history[i] = substr(hit history[i], 1, of[i])
  for (j = 1; j <= length(history[i]); j++) n += substr(history[i], j, 1)
  # Each start counts, even immediately after the last one.
  if (n >= hits[i] && (!on[i] || kind[i] ~ /_start$/)) {
    on[i] = 1
    print "fire " i " " t " " printed[i]
    fflush()
  } else if (n == 0) on[i] = 0
}
# Start a new piece when the current one is full or covers a quarter of the buffer. Names increase with time; with five
# pieces the oldest is deleted.
function start_piece() {
  if (at_piece != "" && size[at_piece] + last_tick <= room && t - piece_began < quarter) return
  if (at_piece != "") close(at_piece)
  at_piece = "r." sprintf("%010d", t / 100)
  while (at_piece in size) at_piece = at_piece "a"
  piece_began = t
  size[at_piece] = 0
  order[++newest] = at_piece
  if (newest - oldest > 5) {
    to_remove = to_remove " " order[++oldest]
    buffer_bytes -= size[order[oldest]]
    delete size[order[oldest]]
    delete order[oldest]
  }
}
function store_tick(  i, l, k, u, n) {
  start_piece()
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
      buffer_bytes += n
    }
    close(file[i])
  }
  fflush(at_piece)
}
function measure_cost(  n, i, p, l, w, s) {
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
    rss_kb += number_of(s, "VmRSS")
  }
}
function wait_second(  cmd, l) {
  cmd = (to_remove == "") ? "" : rm to_remove "; "
  to_remove = ""
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
    else if (w[1] == "O") to_remove = to_remove " " w[2]
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
    if (is_gone("/proc/" main "/stat")) exit 1
    if (is_gone(go)) exit 0
    t = now()
    for (i = 1; i <= rules; i++) evaluate(i)
    if (files) store_tick()
    if (tick % 5 == 0) {
      measure_cost()
      s = "watch " t " " sprintf("%.0f %.0f %.0f", cpu_ms, rss_kb, buffer_bytes)
      for (i = 1; i <= rules; i++) s = s " " printed[i]
      print s
      fflush()
    }
    then = t
    wait_second()
  }
}
