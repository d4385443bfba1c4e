# Reads threads and prints what changed. A thread whose schedstat is unchanged has not run since: it waits where it
# waited before, and that is exact. Only a thread that has run is read again. Times are in ms. mawk exits where a task
# ends between open and read; the shell then starts this program again (`again` counts that).
function now() { getline line < "/proc/uptime"; close("/proc/uptime"); return int(line * 1000 + 0.5) }
function get(f,  r) { line = ""; r = (getline line < f); close(f); return r > 0 }
function clean(x) { gsub(/[[:cntrl:]]/, "?", x); return x }
function hex(x,  i, n) { for (i = 1; i <= length(x); i++) n = n * 16 + index("0123456789abcdef", substr(x, i, 1)) - 1; return n + 0 }
function small(x, n) { return length(x) <= n + 2 ? x : x ~ /^0xf+[0-9a-f]$/ ? "n" : "+" }
function split_stat(x) {
    if (!match(x, /\) [A-Za-z] -?[0-9]+ /)) return ""
    comm = substr(x, 1, RSTART - 1); sub(/^[^(]*\(/, "", comm); comm = clean(comm); split(substr(x, RSTART + 2), s, " ")
    return s[1]
}
# Which threads there are. New ones are read by one grep, which passes over what it may not read.
function enumerate(  c, x, n, w, i) {
    n = split(only, w, " "); for (i = 1; i <= n; i++) { c = c " " w[i] "/task/[0-9]*"; target[w[i]] }
    c = "cd /proc && printf '%s\\n'" c " [0-9]*/task/[0-9]*"; n = 0; x = ""
    while ((c | getline i) > 0) if (!(i in known) && total++ < 20000) { known[i]; x = x " " i; if (++n % 4000 == 0) { meet(x); x = "" } }
    close(c); meet(x)
}
function meet(x,  c, t, f, k, v, w, n, i) {
    if (x == "") return
    # A long command is slow: awk compares it at each getline.
    n = split(x, w, " "); for (i = 1; i <= n; i++) print w[i] "/stat\n" w[i] "/schedstat\n" w[i] "/syscall\n" w[i] "/wchan" > ".tasks"
    close(".tasks"); split("", w)
    c = "exec <.tasks; cd /proc && exec xargs grep -sH ''"; x = ""; t = now()
    while ((c | getline v) > 0) {
        k = index(v, ":"); f = substr(v, 1, k - 1); v = substr(v, k + 1); k = f; sub(/\/[a-z]*$/, "", k); f = substr(f, length(k) + 2)
        if (k != x) { if (x != "") first(x, w, t); x = k; for (c_ in w) delete w[c_] }
        if (!(f in w)) w[f] = v
    }
    close(c); if (x != "") first(x, w, t)
}
function first(k, w, t,  v, u) {
    v = split_stat(w["stat"]); if (v == "" || v ~ /[XZ]/) return
    split(k, u, "/")
    if (!(u[1] in met)) { met[u[1]]; print "p", u[1], s[2], comm }
    if (int(s[7] / 2097152) % 2) { kernel[k] = u[1]; if (v == "D") print "k", u[1], clean(w["wchan"]), comm; return }
    if (w["schedstat"] == "") return
    order[++tasks] = k; pid[k] = u[1]; tid[k] = u[3]; denied[k] = w["syscall"] == ""
    # With a target, other threads are read at a quarter of the rate.
    least[k] = !only || u[1] in target ? 1 : 4
    before[k] = w["schedstat"]; seen[k] = t; gap[k] = least[k]; push(k)
    show(k, "", t, v, w["syscall"], w["wchan"])
}
function push(k) { link[k] = ""; if (tail != "") link[tail] = k; else head = k; tail = k }
# Prints what a thread does: state, system call, its first three arguments without pointers, wchan, descriptor. Of a
# futex the address stays, or `stack` where it is on the stack of the thread; `o` is a value with an owner and waiters.
function show(k, since, t, state, call, wchan,  a, n, c, d, nr, x, y, z) {
    n = split(call, a, " "); nr = a[1]; d = ""
    if (nr == "running") state = "R"
    # mawk loses memory where an element is set that split has not made, so these are variables.
    if (state == "R") nr = wchan = ""
    else if (n > 7) {
        c = " " nr " "; x = a[2]; y = a[3]; z = a[4]
        if (index(calls_futex, c)) {
            n = hex(substr(x, 3)) - hex(substr(a[8], 3)); if (n >= 0 && n < 4096) x = "stack"
            y = small(y, 4); z = (length(z) == 10 || length(z) == 18) && z ~ /80[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]$/ ? "o" : small(z, 4)
        } else {
            if (index(calls_poll, c)) { if (y == "0x1") d = slot(pid[k], "poll " tid[k]) }
            else if (!index(calls_other, c) && length(x) <= 7) d = slot(pid[k], hex(substr(x, 3)))
            x = d != "" ? "fd" : small(x, index(calls_child, c) ? 1 : 6); y = small(y, 3); z = small(z, 2)
        }
    }
    if (index(calls_loop, " " nr " ") && nr != "") loop[k] = 1
    st[k] = state
    print "s", pid[k], tid[k], since, t, before[k], state, nr, x, y, z, (wchan == "0" ? "" : clean(wchan)), d, comm
}
# A descriptor is asked for once in a batch.
function slot(p, d) {
    if (!((p, d, batch) in slots)) {
        if (slot_n - slot_done >= 400) return ""
        slots[p, d, batch] = again "." ++slot_n; slot_pid[slot_n] = p; slot_fd[slot_n] = d
    }
    return slots[p, d, batch]
}
function leave(k) { gone[k]; print "g", pid[k], tid[k] }
function look(k, t, last,  f, x, c, w, was) {
    f = "/proc/" k "/"
    if (!get(f "schedstat")) { leave(k); return }
    if (line == before[k]) {
        if (last && k in ran) context(k, t)
        if (st[k] != "R") seen[k] = t
        if ((gap[k] *= 2) > 8 * least[k]) gap[k] = 8 * least[k]
        return
    }
    if (k in loop) worked[k] += (line - before[k]) / 1e6
    was = seen[k]; before[k] = line; seen[k] = t; gap[k] = least[k]
    if (!get(f "stat") || (x = split_stat(line)) == "" || x ~ /[XZ]/) { leave(k); return }
    if (x != "R" && !denied[k]) { c = get(f "syscall") ? line : ""; w = get(f "wchan") ? line : "" }
    show(k, was, t, x, c, w)
    if (last || !(k in ran) && switched++ < 500) { ran[k]; context(k, t) }
}
# The four event loops that have worked most since the last choice, which are then read in each walk: a pause of all
# clients of a tenth of a second is between two looks otherwise.
function choose(  i, k, x, w) {
    for (k in often) delete often[k]
    for (i = 0; i < 4; i++) { x = 5; w = ""; for (k in worked) if (worked[k] > x) { x = worked[k]; w = k } if (w == "") break; often[w]; delete worked[w] }
    for (k in worked) delete worked[k]
}
# Threads that are due come to the end of the queue; the budget says how many of the queue are read in this walk.
function walk(  k, n, t, d) {
    t = now(); print "w", t; walks++
    if (walks in due_head) { if (tail != "") link[tail] = due_head[walks]; else head = due_head[walks]; tail = due_tail[walks]; delete due_head[walks]; delete due_tail[walks] }
    for (k in often) if (!(k in gone)) look(k, t, 0)
    while (head != "" && n < budget) {
        k = head; head = link[k]; if (head == "") tail = ""
        if (++n % 25 == 0) t = now()
        look(k, t, 0)
        if (k in gone) continue
        d = walks + gap[k]; link[k] = ""
        if (d in due_tail) link[due_tail[d]] = k; else due_head[d] = k
        due_tail[d] = k
    }
    if (get("/proc/self/schedstat")) {
        # 0.7 percent of a CPU for looking, beyond what the first sight took.
        if (!own) own = line + 0; else budget *= (line - own) / 1e6 > 0.007 * (t - begin) + 5 ? 0.7 : 1.2
        if (budget < 8) budget = 8; if (budget > 500) budget = 500
    }
    fflush()
}
# What a descriptor is, for all that were seen since the last time: links by one ls, addresses from /proc/PID/net, once
# for each network namespace.
function resolve(t,  i, c, p, d, n, x, w, e, q, o, last) {
    last = slot_n
    for (i = slot_done + 1; i <= last; i++) {
        p = slot_pid[i]; d = slot_fd[i]
        if (!(p in net_of)) { net_of[p] = p; c = c " " p "/ns/net" }
        if (d !~ /^poll/) c = c " " p "/fd/" d
        else if (!(p in socks) && polled < 300 && few(p)) {
            # The rest waits for the next time: listing the descriptors of many processes at once takes long.
            if (n == 30) { last = i - 1; break }
            n++; polled++; socks[p] = ""; c = c " " p "/fd/"
        }
    }
    c = "cd /proc && exec ls -ln self/exe" c " 2>/dev/null"
    while ((c | getline x) > 0) {
        if (x ~ /^[0-9]+\/fd\/?:$/) { split(x, w, "/"); q = w[1]; continue }
        if (!(o = index(x, " -> "))) continue
        e = substr(x, o + 4); x = substr(x, 1, o - 1); sub(/^.* /, "", x)
        if (x ~ /\/ns\//) { sub(/\/.*/, "", x); net_of[x] = e }
        else if (x ~ /\//) { split(x, w, "/"); to[w[1], w[3]] = clean(e) }
        else if (q && e ~ /^socket/) { socks[q] = socks[q] " " e; ask(e, q) }
    }
    close(c)
    for (i = slot_done + 1; i <= last; i++) if ((slot_pid[i], slot_fd[i]) in to) {
        p = slot_pid[i]; e = to[p, slot_fd[i]]
        if (e ~ /^socket/) ask(e, p); else if (e ~ /eventpoll/) e = watch(p, slot_fd[i])
        slot_to[i] = e
    }
    addresses(t)
    for (i = slot_done + 1; i <= last; i++) {
        p = slot_pid[i]; e = slot_to[i]
        if (slot_fd[i] ~ /^poll/) e = "poll " guess(p)
        else if (e ~ /^socket/) e = e in addr ? addr[e] : "socket"
        else if (e ~ /^epoll/) e = watched(e)
        else if (e ~ /^\//) e = file(p, e)
        else sub(/:\[[0-9]*\]$/, "", e)
        print "f", again "." i, e
    }
    for (x in to) delete to[x]
    for (x in took) delete took[x]
    for (x in socks) delete socks[x]
    slot_done = last; batch++
}
function context(k, t,  f, x, a, b, c) {
    f = "/proc/" k "/status"
    while ((getline x < f) > 0) {
        if (x ~ /^Cpus_allowed_list/) c = x; else if (x ~ /^vol/) a = x; else if (x ~ /^nonvol/) b = x; else continue
    }
    close(f); sub(/^[^:]*:[ \t]*/, "", a); sub(/^[^:]*:[ \t]*/, "", b); sub(/^[^:]*:[ \t]*/, "", c)
    if (a != "") print "c", pid[k], tid[k], t, a, b, clean(c)
}
function few(p,  f, x, r) { f = "/proc/" p "/status"; while ((getline x < f) > 0) if (x ~ /^FDSize/) { sub(/[^0-9]*/, "", x); r = x + 0 <= 2048; break } close(f); return r }
function ask(e, p) { if (!(e in addr) && !(e in wanted) && !(e in other)) { wanted[e] = p; unanswered++ } }
# The sockets that an epoll watches, by inode; of more than eight descriptors only their number.
function watch(p, d,  f, x, n, r, e) {
    f = "/proc/" p "/fdinfo/" d
    while ((getline x < f) > 0) if (x ~ /^tfd:/ && ++n <= 8 && sub(/^.* ino:/, "", x)) { sub(/ .*/, "", x); e = "socket:[" hex(x) "]"; r = r " " e; ask(e, p) }
    close(f); return "epoll " n + 0 (n > 8 ? "" : r)
}
function watched(e,  w, n, i, r, c, u) {
    n = split(e, w, " ")
    for (i = 3; i <= n; i++) if (w[i] in addr) { r = " " addr[w[i]]; c++ } else if (!(w[i] in other)) u++
    return "epoll " w[2] " " (n < 3 && w[2] > 0 || u ? "?" : c + 0 (c == 1 ? r : ""))
}
# A poll of one descriptor does not tell which one; the sockets of the process do, as far as they differ: a name server,
# then connections that this process opened, then those that it accepted.
function guess(p,  w, n, i, j, e, r) {
    n = split(socks[p], w, " ")
    for (j = 1; j <= 4; j++) for (i = 1; i <= n; i++) {
        e = w[i]; if (!(e in addr) || (p, e) in took) continue
        r = addr[e]
        if (j == 1 ? r ~ /^udp.? out .*:0035$/ : j == 2 ? r ~ /^(tcp.?|unix) out/ : j == 3 ? r ~ / in / : r !~ / listen /) { took[p, e]; return r }
    }
    return ""
}
function addresses(t,  e, p, n, d) {
    if (!unanswered || t < net_due) return
    for (e in wanted) {
        p = wanted[e]; if (e in addr || net_of[p] in net_read || n >= 3) continue
        # TCP last, because the kernel walks all its buckets for each of these files.
        n++; net_read[net_of[p]]; unix(p); inet(p, "udp"); inet(p, "udp6"); if (open_questions()) inet(p, "tcp"); if (open_questions()) inet(p, "tcp6")
    }
    unanswered = 0
    for (e in wanted) if (e in addr) delete wanted[e]; else if (net_of[wanted[e]] in net_read) { other[e]; delete wanted[e] } else unanswered++
    for (p in net_read) delete net_read[p]
    d = 50 * (now() - t); net_due = t + (d < 800 ? 800 : d)
}
function open_questions(  e) { for (e in wanted) if (!(e in addr)) return 1; return 0 }
# Where there are many sockets, grep picks the lines: to split one costs awk ten times as much.
function inet(p, kind,  f, c, x, l, i, e, tcp) {
    f = "/proc/" p "/net/" kind; tcp = kind ~ /tcp/; here_n = 0
    if (get("/proc/" p "/net/sockstat") && line ~ /used [0-9]/ && substr(line, index(line, "used ") + 5) + 0 > 1000) {
        c = "exec grep -sF -e ' 0A '"; for (e in wanted) c = c " -e ' " substr(e, 9, length(e) - 9) " '"
        c = c " " f; while ((c | getline x) > 0) inet_line(p, kind, tcp, x); close(c)
    } else { while ((getline x < f) > 0) inet_line(p, kind, tcp, x); close(f) }
    for (i = 1; i <= here_n; i++) {
        l = own_[i]; sub(/.*:/, "", l)
        addr[here[i]] = kind (tcp && (p, l) in listens ? " in " own_[i] : far[i] ~ /:0000$/ ? " local " own_[i] : " out " far[i])
    }
}
function inet_line(p, kind, tcp, x,  w, l, e) {
    split(x, w, " "); e = "socket:[" w[10] "]"
    if (tcp && w[4] == "0A") { l = w[2]; sub(/.*:/, "", l); listens[p, l]; if (e in wanted) addr[e] = kind " listen " w[2] }
    else if (e in wanted) { here[++here_n] = e; own_[here_n] = w[2]; far[here_n] = w[3] }
}
function unix(p,  f, x, w, e, n, c, path, peer) {
    f = "/proc/" p "/net/unix"
    while ((getline x < f) > 0) {
        split(x, w, " "); e = "socket:[" w[7] "]"; if (!(e in wanted)) continue
        addr[e] = "unix " (w[4] == "00010000" ? "listen " clean(w[8]) : w[8] != "" ? "in " clean(w[8]) : "out"); if (w[8] == "") n++
    }
    close(f); if (!n || ss == "") return
    # The path of the other end, which /proc does not show.
    c = "exec ss -xnH 2>/dev/null"
    while ((c | getline x) > 0) { n = split(x, w, " "); path[w[n - 2]] = w[n - 3]; peer[w[n - 2]] = w[n] }
    close(c)
    for (x in peer) { e = "socket:[" x "]"; if (addr[e] == "unix out" && path[peer[x]] ~ /^[\/@]/) addr[e] = "unix out " clean(path[peer[x]]) }
}
# The mount that holds a file: device, type and mount point, by the longest prefix among the mounts of the process.
function file(p, e,  f, x, w, n, i, m, best) {
    if (!((p, 0) in mount) && mount_n++ < 30) {
        f = "/proc/" p "/mountinfo"
        while ((getline x < f) > 0) { n = split(x, w, " "); for (i = 7; i < n && w[i] != "-"; i++); mount[p, ++m] = w[5]; mount_is[p, m] = w[3] " " w[i + 1] " " w[5] }
        close(f); mount[p, 0] = m
    }
    for (i = 1; i <= mount[p, 0]; i++) { m = mount[p, i]; if ((m == "/" || e == m || index(e, m "/") == 1) && (!best || length(m) >= length(mount[p, best]))) best = i }
    return "file " (best ? mount_is[p, best] : "- - -") " " e
}
# Kernel threads in D once more, at the end.
function scan(  k, c, x, n) {
    for (k in kernel) { c = c " " kernel[k]; if (++n >= 4000) break }
    if (c == "") return
    c = "cd /proc;l=;for t in" c ";do l=\"$l $t/stat\";done;exec grep -sHE ') D ' $l"
    while ((c | getline x) > 0) { k = x; sub(/\/.*/, "", k); split_stat(x); n = comm; print "k", k, get("/proc/" k "/wchan") ? clean(line) : "0", n }
    close(c)
}
function over(  l, r) { r = (getline l < ".over"); close(".over"); return r >= 0 }
BEGIN {
    OFS = "\t"
    if (machine ~ /aarch64|riscv|loongarch/) { calls_futex = " 98 422 "; calls_poll = " 73 "; calls_child = " 95 260 "; calls_loop = " 22 72 73 441 "; calls_other = " 72 95 101 115 188 189 190 192 193 260 " }
    else { calls_futex = " 202 "; calls_poll = " 7 271 "; calls_child = " 61 247 "; calls_loop = " 7 23 232 270 271 281 441 "; calls_other = " 23 34 35 56 61 65 69 70 220 230 247 270 " }
    budget = 200
    begin = now(); print "@", begin, again; if (!until) until = begin + secs * 1000
    # This program always runs when it looks at itself.
    getline own_pid < "/proc/self/stat"; close("/proc/self/stat"); own_pid += 0; known[own_pid "/task/" own_pid]
    enumerate(); print "d"; t = now(); due = t + 1500
    while ((t = now()) < until && !over()) {
        if (slot_n > slot_done && t >= net) { resolve(t); net = t + 1500; if (net < net_due) net = net_due }
        if (fifo) { getline line < ".t"; close(".t") } else if (!pause(substr("0.090.110.080.120.10", 1 + walks % 5 * 4, 4)) && system("exec sleep 0.2")) system("exec sleep 1")
        if ((t = now()) >= due) { choose(); enumerate(); due = 100 * (now() - t); due = t + (due < 2000 ? 2000 : due) }
        walk()
    }
    t = now(); print "e", t
    for (i = 1; i <= tasks; i++) if (!(order[i] in gone)) {
        if (i % 25 == 0 && now() - t > 2000) late = 1
        if (late) leave(order[i]); else look(order[i], t, 1)
    }
    for (i = 0; i < 10 && slot_n > slot_done; i++) { net_due = 0; resolve(t) }
    scan(); print "d"
}
