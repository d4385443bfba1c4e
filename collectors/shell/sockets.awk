# Read the sockets of the host once for four collectors. Variables: ns = prefix that enters the namespace of the target,
# secs, only = pids of the target between spaces, dir_ss, dir_ss_listen, dir_calls, dir_tcp_waits = directory of each
# collector (`-` if it is not part of the run, empty for standard output), netns = which namespace is read.
# All sockets with their owners are read at the start and the end, all states once in between, and about once a second
# those that have requests and queues.
function now(  u) { getline u < "/proc/uptime"; close("/proc/uptime"); sub(/ .*/, "", u); return u + 0 }
function over(  l, k) { k = (getline l < ".over"); close(".over"); return k >= 0 }
function at(file, tick, name,  u) {
    getline u < "/proc/uptime"; close("/proc/uptime"); sub(/ .*/, "", u); sub(/\./, "", u)
    print "@ " tick " " u "0000000 " name >> file
}
function field(name,  i) { i = index($0, " " name ":"); return i ? substr($0, i + length(name) + 2, 15) + 0 : -1 }
function port(a) { match(a, /:[^:]*$/); return substr(a, RSTART + 1) }
function host(a) { match(a, /:[^:]*$/); return substr(a, 1, RSTART - 1) }
function copy(file, path, tick, name,  l, c, n) {
    at(file, tick, name)
    c = "exec " ns " head -c 4000 " path " 2> /dev/null"
    if (ns != "") { while ((c | getline l) > 0) print l >> file; close(c) }
    else { while (++n < 200 && (getline l < path) > 0) print l >> file; close(path) }
    return l
}
# Append the lines of line[1..m] with the greatest numbers in rank[], at most max.
function append_greatest(file, m, max,  i, j, r, l, c) {
    if (m > max) {
        close(file); c = "sort -nr | head -n " max " | cut -d \047 \047 -f 2- >> " file
        for (i = 1; i <= m; i++) print rank[i] " " line[i] | c
        close(c); return
    }
    for (i = 2; i <= m; i++) {
        r = rank[i]; l = line[i]
        for (j = i - 1; j > 0 && rank[j] < r; j--) { rank[j + 1] = rank[j]; line[j + 1] = line[j] }
        rank[j + 1] = r; line[j + 1] = l
    }
    for (i = 1; i <= m; i++) print line[i] >> file
}
function clear(  k) {
    for (k in n_state) delete n_state[k]; for (k in n_wait) delete n_wait[k]; for (k in n_dest) delete n_dest[k]
    for (k in estab) delete estab[k]; for (k in timew) delete timew[k]; for (k in syns) delete syns[k]
    for (k in used) delete used[k]; for (k in n_owner) delete n_owner[k]; for (k in p_n) delete p_n[k]
    for (k in e_n) delete e_n[k]; for (k in e_rest) delete e_rest[k]
    total = waits = dests = dest_rest = closing = seen = edges = paths = 0
    split("", e_e); split("", e_s); split("", e_w); split("", e_q); split("", e_Q); split("", e_m); split("", e_M)
    split("", e_X); split("", e_z); split("", e_Z); split("", p_sent); split("", p_busy); split("", p_rto)
    split("", p_rtt); split("", p_max); split("", e_c)
}
# One socket for the collector `ss`. A socket in CLOSE-WAIT waits for close() only after its program has read all: the
# receive queue is then 0, or 1 until it has read the end of the stream, because FIN takes one sequence number
# (tcp_diag_get_info, tcp_fin). With more on a connection that was accepted here, a request waits: the program is behind
# with its work and has not forgotten the socket. On a connection that was opened from here, more is the rest of an answer.
function count_socket(  mine, o, k, u) {
    total++; n_state[$1]++; path = ""
    if ($1 == "LISTEN") return
    o = port($4); mine = o in own
    if ($1 == "CLOSE-WAIT" && ($2 <= 1 || !mine)) {
        closing++
        k = mine ? o " *" : "* " $5
        if (k in n_wait || ++waits <= 5000) n_wait[k]++
        if (match($0, /\(\("[^"]*",pid=[0-9]+/)) { u = substr($0, RSTART + 3, RLENGTH - 3); n_owner[u]++; a_owner[u] = $4 " " $5 }
    } else if ($1 == "CLOSE-WAIT") closing++
    if (mine) return
    k = host($4) " " $5
    if (!(k in n_dest) && ++dests > 20000) { dest_rest++; return }
    n_dest[k]++
    if ($1 == "ESTAB") { estab[k]++; if ($5 in p_n || ++paths <= 5000) { path = $5; p_n[path]++ } }
    else if ($1 == "TIME-WAIT") timew[k]++
    else if ($1 == "SYN-SENT") syns[k]++
    if (o + 0 >= low && o + 0 <= high) used[k]++
}
# One connection for the collector `calls`. A process is the first one that ss names, or one of the target's.
function count_edge(  p, c, t, r, u, i, o, d) {
    edge = ""
    if (($1 != "ESTAB" && $1 != "SYN-SENT" && $1 != "CLOSE-WAIT") || ++seen > 10000) return
    p = "-"; c = ""; t = targeted ? 0 : "-"; r = $0
    while (match(r, /"[^"]*",pid=[0-9]+/)) {
        u = substr(r, RSTART + 1, RLENGTH - 1); r = substr(r, RSTART + RLENGTH)
        i = index(u, "\",pid="); o = substr(u, i + 6)
        if (p == "-" || index(only, " " o " ")) { p = o; c = substr(u, 1, i - 1) }
        if (!targeted) break
        if (index(only, " " o " ")) { t = 1; break }
    }
    gsub(/\t/, " ", c); d = port($4) in own ? "in" : "out"
    edge = d "\t" p "\t" t "\t" host($4) "\t" (d == "in" ? port($4) : "-") "\t" host($5) "\t" (d == "in" ? "-" : port($5))
    if (!(edge in e_n) && ++edges > 5000) { e_rest[d]++; edge = ""; return }
    e_n[edge]++; e_c[edge] = c
    if ($1 == "ESTAB") e_e[edge]++; else if ($1 == "SYN-SENT") e_s[edge]++; else e_w[edge]++
    e_q[edge] += $2; e_Q[edge] += $3
}
# The second line of a socket: round trips and what was sent again.
function measure_path(  i, v) {
    for (i = 1; i <= NF; i++) {
        split($i, v, /[:\/]/)
        if (v[1] == "rtt") {
            if (edge != "") { e_m[edge] += v[2]; e_M[edge]++; if (v[2] + 0 > e_X[edge] + 0) e_X[edge] = v[2] }
            if (path != "") { p_rtt[path] += v[2]; if (v[2] + 0 > p_max[path] + 0) p_max[path] = v[2] }
        } else if (v[1] == "rto") { if (path != "" && v[2] + 0 > p_rto[path] + 0) p_rto[path] = v[2] }
        else if (v[1] == "retrans") {
            if (edge != "") { e_z[edge] += v[3]; if (v[2] > 0) e_Z[edge]++ }
            if (path != "") { p_sent[path] += v[3]; if (v[2] > 0) p_busy[path]++ }
        }
    }
}
# The group of one connection for the collector `tcp_waits`, in `g`; the number of its inode in `ino`. The owner is known from a walk over the descriptors of all processes (owned), which happens only for new
# connections and for at most a hundredth of the time, else from the last connection with the same peer or port.
function find_group(owned,  i, p, s, w, o) {
    gone = $1 == "CLOSE-WAIT"; unread = $2 - gone; unsent = $3; p = port($4); inbound = p in own; ino = field("ino")
    g = ""
    if (!(ino in owner)) strangers++
    if (owned) {
        o = ""
        if (match($0, /\(\("[^"]*",pid=[0-9]+/)) { s = substr($0, RSTART + 3, RLENGTH - 3); split(s, w, "\",pid="); o = w[1]; gsub(/[\t=]/, "_", o); o = w[2] "\t" o }
        if (ino > 0) owner[ino] = o
        if (o != "") hint[inbound ? p : $5] = o
    } else if (ino in owner) o = owner[ino]
    else o = hint[inbound ? p : $5]
    if (inbound ? o == "" : gone) return
    g = (o == "" ? "0\t" : o) "\t" (inbound ? "in" : "out") "\t" (inbound ? p : $5)
    if (!(g in all) && groups++ >= 3000) g = ""
}
# The kernel reports which side sent last: how long ago data was sent and received, in steps of a jiffy (hence 8 ms
# between the two), and the number of data segments in each direction. A request is unanswered where this host sent
# last and the other side has acknowledged all of it. Only connections with data within the last minute count: one
# without is a stream or is idle. A request is still processed after its client has closed the connection (CLOSE_WAIT,
# where the end of the stream counts as one byte). A connection counts after it has waited for 20 ms.
# A request that the program has not read has waited since it was received.
function tally_wait(  sent, got, out, come, age) {
    all[g]++; if (last[g] != looks) { last[g] = looks; there[g]++; here[g] = 0 }
    if (++here[g] > most[g]) most[g] = here[g]
    sent = field("lastsnd"); got = field("lastrcv"); out = field("data_segs_out"); come = field("data_segs_in")
    if (unread > 0) { read_[g]++; if (inbound && got >= 20 && got < 60000 && got > old[g]) old[g] = got }
    if (unsent > 0) held[g]++
    if (/ retrans:[1-9]/) again[g]++
    tally_segments(sent, out)
    age = -1
    if (unread <= 0 && unsent == 0) {
        if (inbound) { if (come > 0 && (out <= 0 || sent - got >= 8)) age = got }
        else if (out > 0 && (come <= 0 || got - sent >= 8)) age = sent
    }
    if (age >= 20 && age < 60000) { waiting[g]++; if (age > old[g]) old[g] = age; if (when[g] != looks) { when[g] = looks; often[g]++ } }
}
# What this host sent to the other side, apart for data that fills a segment and for less. Each time that the timer of the first
# segment ends, its backoff grows by one: from two on, the segment was sent three times. The bytes since the last look
# divided by the segments that were sent for the first time are near the size of a full one where the peer received full
# ones. A client that went away in the middle of an answer has received full ones before. Of short segments, those are counted that were sent, and those that were sent again.
function tally_segments(sent, segments,  mss, acked, new, first, again, total, w) {
    if (unsent == 0 && sent >= 1000 && ino in acked_of) return
    mss = field("mss"); acked = field("bytes_acked"); total = 0
    if (mss <= 0 || acked < 0 || segments < 0) return
    if (match($0, / retrans:[0-9]+\/[0-9]+/)) { split(substr($0, RSTART, RLENGTH), w, "/"); total = w[2] + 0 }
    new = segments - segments_of[ino]; again = total - total_of[ino]; first = new > again ? new - again : 1
    if (unsent >= mss) {
        if (field("unacked") > 0) { full[g]++; if (field("backoff") >= 2 && (!inbound || 2 * acked < mss * (segments - total))) deep[g]++ }
    } else if (new > 0) {
        if (2 * (acked + unsent - acked_of[ino]) < mss * first) { short[g] += new; short_again[g] += again }
        else if (unsent == 0 && sent < 1000) full_done[g]++
    }
    if (ino > 0) { acked_of[ino] = acked; segments_of[ino] = segments; total_of[ino] = total }
}
function list_queue() {
    own[port($4)]
    if (F_listen != "" && ++listed <= 500) print $1, $2, $3, $4, $5 >> F_listen
}
# Wait in this program, else return the beginning of a command that waits.
function wait_first(s) { return s > 0 && !pause(s) ? "sleep " s "; " : "" }
# Run a command whose first line marks the time at which it began to read.
function begin(c, tick) {
    listed = 0
    if ((c | getline) <= 0) return 0
    began = now()
    if (F_listen != "" && tick >= 0) at(F_listen, tick, "queues")
    return 1
}
# The queues of listening sockets, after a pause.
function read_queues(rest, tick,  c) {
    c = wait_first(rest) "echo; exec " ns " ss -Hltn 2> /dev/null"
    if (begin(c, tick)) while ((c | getline) > 0) list_queue()
    close(c)
}
# Connections and queues, after a pause; with owners if `how` is p. The pause is 20 times the duration of the last look,
# or about a second, with jitter, so that it does not run in step with the workload.
function read_waits(how, rest, tick,  c, lines) {
    c = wait_first(rest) "echo; exec " ns " ss -Htine" how " state established state close-wait state listening 2> /dev/null"
    looks++; strangers = 0; g = ""
    if (begin(c, tick)) while (lines++ < 40000 && (c | getline) > 0) {
        if (/^LISTEN/) { list_queue(); g = "" }
        else if (/^[A-Z]/) find_group(how != "")
        else if (g != "" && / rto:/) { tally_wait(); g = "" }
    }
    close(c)
}
# All sockets with their owners.
function read_all(tick, unix,  c, w) {
    clear(); looks++; strangers = pairs = 0
    c = "echo; exec " ns " ss -Hat" (unix ? "x" : "") "inpe 2> /dev/null"
    if (begin(c, tick ? queue++ : -1)) while ((c | getline) > 0) {
        if (/^u_/) { if (++pairs <= 20000) pair_unix(); continue }
        if (/^tcp/) sub(/^tcp +/, "")
        if (/^[A-Z]/) {
            if (F_ss != "") count_socket()
            if (F_calls != "") count_edge()
            g = ""
            if ($1 == "LISTEN") {
                if (tick) list_queue()
                else if (F_listen != "" && ++listed <= 500) L[listed] = $0
            } else if (F_waits != "" && ($1 == "ESTAB" || $1 == "CLOSE-WAIT") && ++own_lines <= 40000) find_group(1)
        } else {
            if (g != "" && / rto:/) { tally_wait(); g = "" }
            if (edge != "" || path != "") measure_path()
            edge = path = ""
        }
    }
    close(c); own_lines = 0
}
# The accepting side of a unix socket bears the path; its peer is found by the number of its inode.
function pair_unix(  u, i, c) {
    if ($2 != "ESTAB" || $6 !~ /^[0-9]+$/ || $8 !~ /^[0-9]+$/) return
    u = "-\t"
    if (match($0, /\(\("[^"]*",pid=[0-9]+/)) {
        u = substr($0, RSTART + 3, RLENGTH - 3); i = index(u, "\",pid="); c = substr(u, 1, i - 1)
        gsub(/\t/, " ", c); u = substr(u, i + 6) "\t" c
    }
    U[$6] = u; P[$6] = $8
    if ($5 != "*") N[$6] = substr($5, 1, 108)
}
function print_counts(tick,  k, m, top) {
    copy(F_ss, "/proc/net/sockstat", tick, "sockstat"); at(F_ss, tick, "counts")
    print "total " total + 0 >> F_ss
    for (k in n_state) print "state " n_state[k] " " k >> F_ss
    if (dest_rest) print "rest " dest_rest >> F_ss
    m = 0; for (k in n_wait) { rank[++m] = n_wait[k]; line[m] = "wait " n_wait[k] " " k }
    append_greatest(F_ss, m, 50)
    m = 0; for (k in n_dest) { rank[++m] = n_dest[k]; line[m] = "dest " n_dest[k] " " estab[k] + 0 " " timew[k] + 0 " " syns[k] + 0 " " used[k] + 0 " " k }
    append_greatest(F_ss, m, 50)
    if (tick == 1) return
    if (closing) {
        at(F_ss, tick, "owners"); m = 0
        for (k in n_owner) { rank[++m] = n_owner[k]; line[m] = n_owner[k] " " a_owner[k] " " k }
        append_greatest(F_ss, m, 50)
    }
    for (k in p_n) if (p_n[k] > p_n[top]) top = k
    if (tick == 2 && p_n[top]) {
        at(F_ss, tick, "path")
        print top, p_n[top], p_sent[top] + 0, p_busy[top] + 0, p_rto[top] + 0, p_rtt[top] / p_n[top], p_max[top] + 0 >> F_ss
    }
}
function print_edges(tick,  k, d, m, c, r, many) {
    at(F_calls, tick, "calls"); print "seen\t" seen + 0 >> F_calls
    for (d in e_rest) print "rest\t" d "\t" e_rest[d] >> F_calls
    for (k in e_n) many[substr(k, 1, 2)]++
    close(F_calls)
    for (m = 1; m <= 2; m++) {
        d = m == 1 ? "out" : "in"
        if (!many[substr(d, 1, 2)]) continue
        c = many[substr(d, 1, 2)] > 150 ? "sort -t \047\t\047 -k4,4r -k9,9nr | head -n 150 >> " F_calls : ""
        for (k in e_n) if (index(k, d "\t") == 1) {
            r = "edge\t" k "\t" e_e[k] + 0 "\t" e_s[k] + 0 "\t" e_w[k] + 0 "\t" e_m[k] + 0 "\t" e_M[k] + 0
            r = r "\t" e_X[k] + 0 "\t" e_z[k] + 0 "\t" e_Z[k] + 0 "\t" e_Q[k] + 0 "\t" e_q[k] + 0 "\t" e_c[k]
            if (c == "") print r >> F_calls; else print r | c
        }
        if (c != "") close(c); else close(F_calls)
    }
}
function print_unix(  i, j, x, a, b, n, k, m) {
    at(F_calls, 1, "unix")
    for (i in N) {
        j = split(P[i] in U ? U[P[i]] : "-\t", a, "\t") ? a[1] : "-"; x = a[2]
        split(U[i], b, "\t")
        if (j != b[1]) n[j "\t" b[1] "\t" N[i] "\t" x "\t" b[2]]++
    }
    for (k in n) { rank[++m] = n[k]; line[m] = "unix\t" n[k] "\t" k }
    append_greatest(F_calls, m, 80)
}
function print_waits(  g, w, f, s, uid, v, c) {
    print "looks\tlooks=" looks >> F_waits; close(F_waits)
    c = "sort -t= -k9,9nr | head -n 300 >> " F_waits
    for (g in all) {
        split(g, w, "\t"); f = "/proc/" w[1] "/status"; uid = ""
        while (w[1] && (getline s < f) > 0) if (s ~ /^Uid:/) { split(s, v, "\t"); uid = v[3] }
        close(f)
        printf "wait\tpid=%s\tuid=%s\tcomm=%s\tdirection=%s\tpeer=%s\tlooks=%d\tconnections=%.2f\twaiting=%.2f\twaiting_looks=%d\toldest=%d\tunread=%.2f\tunsent=%.2f\tretransmitting=%.2f\tmost=%d\tfull=%.2f\tdeep=%.2f\tfull_done=%.2f\tshort=%d\tshort_again=%d\n", w[1], uid, w[2], w[3], w[4], there[g], all[g] / looks, waiting[g] / looks, often[g], old[g], read_[g] / looks, held[g] / looks, again[g] / looks, most[g], full[g] / looks, deep[g] / looks, full_done[g] / looks, short[g], short_again[g] | c
        some = 1
    }
    if (some) close(c)
}
function open_file(dir, part) { return dir == "-" ? "" : dir == "" ? "/dev/stdout" : dir "/" part }
BEGIN {
    targeted = only ~ /[0-9]/; owner[0] = owner[-1] = ""
    F_ss = open_file(dir_ss, "samples"); F_listen = open_file(dir_ss_listen, "samples")
    F_calls = open_file(dir_calls, "samples"); F_waits = open_file(dir_tcp_waits, "stdout")
    start = now(); end = start + secs
    if (F_ss != "") {
        at(F_ss, 0, "namespace"); print netns >> F_ss; low = 32768; high = 60999
        if (split(copy(F_ss, "/proc/sys/net/ipv4/ip_local_port_range", 0, "ip_local_port_range"), w, "[ \t]+") == 2) { low = w[1]; high = w[2] }
        copy(F_ss, "/proc/sys/net/ipv4/ip_local_reserved_ports", 0, "ip_local_reserved_ports")
    }
    if (F_calls != "") {
        at(F_calls, 0, "namespace"); print netns >> F_calls; at(F_calls, 0, "addresses")
        c = "exec " ns " ip -o addr show 2> /dev/null"
        while (k++ < 300 && (c | getline) > 0) print $2, $4 >> F_calls
        close(c)
    }
    if (F_listen != "") { at(F_listen, 0, "namespace"); print netns >> F_listen }
    read_queues(0, queue++); t = now()
    read_all(0, 0); took = now() - t
    if (F_listen != "") {
        at(F_listen, 0, "listeners")
        for (k = 1; k in L; k++) print substr(L[k], 1, 2000) >> F_listen
    }
    if (F_ss != "") print_counts(0)
    if (F_calls != "") print_edges(0)
    t = now(); walk_at = t + 100 * took; listen_at = t + 0.8; wait_at = t + (took > 0.05 ? 20 * took : 1); half = start + secs / 2
    step = targeted ? 0.4 : 1; pace = secs > 120 ? 5 : 1
    while (F_listen != "" || F_waits != "" || F_ss != "") {
        wake = end
        if (F_ss != "" && half && half < wake) wake = half
        if (F_listen != "" && listen_at < wake) wake = listen_at
        if (F_waits != "" && looks < 60 && wait_at < wake) wake = wait_at
        while ((t = now()) + 1.5 < wake && !over()) if (!pause(1)) system("sleep 1")
        if (over() || wake >= end || t >= end) break
        rest = wake > t ? wake - t : 0
        if (!fraction) rest = int(rest + 0.99)
        if (F_ss != "" && half && half <= wake) {
            half = 0
            if (took > 3) continue
            if (rest && !pause(rest)) system("sleep " rest)
            clear(); c = "exec " ns " ss -Htan 2> /dev/null"
            while ((c | getline) > 0) count_socket()
            close(c); print_counts(1)
        } else if (F_waits != "" && looks < 60 && wait_at <= wake + 0.3) {
            how = strangers && wake >= walk_at ? "p" : ""
            read_waits(how, rest, queue++); t = now() - began
            if (how != "") walk_at = began + t + (100 * t > secs / 3 ? secs / 3 : 100 * t)
            u = step * (6 + looks % 5 * 2) / 10
            wait_at = began + t + (20 * t > u ? 20 * t : u); listen_at = began + pace
        } else { read_queues(rest, queue++); listen_at = began + pace }
    }
    while ((t = now()) < end && !over()) if (!pause(end - t < 1 ? end - t : 1)) system("sleep " (end - t < 1 && fraction ? end - t : 1))
    read_all(2, F_calls != "")
    if (F_ss != "") print_counts(2)
    if (F_calls != "") { print_edges(1); print_unix() }
    if (F_waits != "") print_waits()
}
