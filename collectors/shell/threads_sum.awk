# Adds up what threads_read.awk prints, by process and by what its threads did, and prints tables. Times are in ms.
# Time on a CPU and time in the queue for one are exact; what is left of an interval in which a thread ran was spent
# waiting, half where it was seen at its beginning and half where it was seen at its end.
function hold(k, b) { held[st[k]] += b; stretch[k] += b; if (stretch[k] > longest[st[k]]) longest[st[k]] = stretch[k]; spend(k, st[k], b) }
function spend(k, key, b,  w) {
    if (b == 0) return
    if (in_d[key]) { stuck[k] += b; stuck_of[pid[k]] += b }
    w = wchan_of[key]; if (w != "" && (where[k, w] += b) > top[k]) { top[k] = where[k, w]; top_at[k] = w }
}
function mark(k, key) { count[key]++; if (!((key, k) in of)) { of[key, k]; whose[key] = whose[key] " " tid[k] } }
function unchanged(k, t,  b) {
    b = t - seen[k]; if (b <= 0) return
    if (st[k] != "R") awake[k] = 0
    if (st[k] == "R") { late[pid[k]] += b; late_of[k] += b } else hold(k, b)
    seen[k] = t
}
function parse_key(  key, i) {
    if ($7 == "R") return "R"
    key = $2; for (i = 7; i <= 13; i++) key = key FS $i
    if (!(key in known)) { known[key]; keys[++key_n] = key; in_d[key] = $7 == "D"; wchan_of[key] = $12 }
    return key
}
function add(k, t, key,  b, x, y, o, v) {
    split($6, v, " ")
    if ($4 != "" && $4 > seen[k] && st[k] != "R") unchanged(k, $4 + 0)
    x = (v[1] - run[k]) / 1e6; y = (v[2] - wait[k]) / 1e6; b = t - seen[k] - x - y + debt[k]; debt[k] = 0; o = st[k]
    # It ran or waited for a CPU all along, but for the error of the clocks.
    if (b <= 5 + (t - seen[k]) / 50) awake[k] += t - seen[k]; else awake[k] = 0
    if (awake[k] > never_slept[k]) never_slept[k] = awake[k]
    seen[k] = t
    run_of[p] += x; wait_of[p] += y; turn_of[p] += v[3] - turns[k]; ran[k] += x; waited[k] += y; turned[k] += v[3] - turns[k]
    run[k] = v[1]; wait[k] = v[2]; turns[k] = v[3]
    if (b < 0) {
        # It has waited for a CPU while it seemed to wait for something else.
        x = stretch[k] < -b ? stretch[k] : -b; if (x > 0 && o != "R") { hold(k, -x); b += x }
        debt[k] = b; b = 0
    }
    stretch[k] = 0; looks[k]++; sampled[p]++; st[k] = key
    if (o != "R" && key != "R") { x = b / 2; part[o] += x; spend(k, o, x); part[key] += x; spend(k, key, x) }
    else if (o != "R") { part[o] += b; spend(k, o, b) }
    else if (key != "R") { part[key] += b; spend(k, key, b) }
    else unseen[p] += b
    if (key != "R") mark(k, key)
}
# A thread that a program before the present one knew, and this one does not, has ended in between.
function is_there(k) { return !(k in ended) && round[k] == again }
function scan(  k, w) { scans++; for (k in seen) if (in_d[st[k]] && is_there(k)) { w = wchan_of[st[k]]; stay(k, who[k], w == "" ? "0" : w) } }
function stay(k, c, w) { d_seen[w]++; if (!((w, k) in d_of)) { d_of[w, k]; d_tasks[w]++ } d_comm[w] = c }
BEGIN { FS = OFS = "\t" }
$1 == "s" {
    p = $2; k = p SUBSEP $3; t = $5 + 0; round[k] = again; split($6, v, " "); who[k] = $14; key = parse_key()
    if (!(k in seen)) {
        order[++tasks] = k; pid[k] = p; tid[k] = $3; first[k] = seen[k] = t; run[k] = v[1]; wait[k] = v[2]; turns[k] = v[3]; st[k] = key
        if (key != "R") mark(k, key)
    } else if (v[1] == run[k] && v[3] == turns[k]) { if (st[k] != "R" || key == "R") unchanged(k, t) } else add(k, t, key)
    next
}
$1 == "g" { ended[$2 SUBSEP $3]; next }
$1 == "p" { parent[$2] = $3; name[$2] = $4; next }
$1 == "k" { stay($2, $4, $3 == "" ? "0" : $3); next }
$1 == "c" {
    k = $2 SUBSEP $3; if (!(k in since)) since[k] = $4
    else context[k] = ($4 - since[k]) FS ($5 - voluntary[k]) FS ($6 - involuntary[k]) FS $7
    voluntary[k] = $5; involuntary[k] = $6; next
}
$1 == "f" { target[$2] = $3; next }
$1 == "d" { scan(); next }
$1 == "w" { walks++; next }
$1 == "@" { again = $3; if (begin == "") begin = $2; next }
$1 == "e" { end = $2; next }
function report(  i, k, p, x, n, w, wanted) {
    print "time", "seconds", "walks", "scans", "machine"
    printf "=\t%.2f\t%d\t%d\t%s\n", (end - begin) / 1000, walks, scans, machine
    n = split(only, wanted, " "); for (i = 1; i <= n; i++) { asked[wanted[i]]; if (wanted[i] in name) rank[wanted[i]] = 1e12 }
    for (i = 1; i <= tasks; i++) {
        k = order[i]; p = pid[k]; if (is_there(k)) unchanged(k, end)
        life[p] += seen[k] - first[k]; alive[p]++
        late[p] += debt[k]; late_of[k] += debt[k]
        rank[p] += 1000 * (ran[k] + waited[k] + late_of[k] + stuck[k]) + looks[k]
    }
    # Those that did nothing come last, in any order.
    for (p in rank) if (rank[p] <= 0) { idle[p]; delete rank[p] }
    for (n = 1; n <= 300; n++) {
        x = -1; for (p in rank) if (rank[p] > x) { x = rank[p]; w = p }
        if (x < 0) { w = ""; for (p in idle) { w = p; break } if (w == "") break; delete idle[w] } else delete rank[w]
        kept[w] = n; list[n] = w; listed[w] = only ? w in asked : n <= 30 || stuck_of[w] > 0
    }
    processes(n - 1); activities(); rows(); print "wchan", "wchan", "tasks", "seen", "comm"
    for (w in d_seen) printf "w\t%s\t%d\t%d\t%s\n", w, d_tasks[w], d_seen[w], d_comm[w] | order_wchans
    close(order_wchans)
}
function processes(n,  i, p, c, x, w, uid, cgroup) {
    for (i = 1; i <= n; i++) c = c " " list[i]
    c = "cd /proc;l=;for t in" c ";do l=\"$l $t/status $t/cgroup\";done;exec grep -sHE '^(Uid:|[0-9]+:([^:]*,)?(cpu(,[^:]*)?)?:/)' $l"
    while ((c | getline x) > 0) {
        p = x; sub(/\/.*/, "", p); i = x ~ /^[0-9]*\/status/; sub(/^[^:]*:/, "", x)
        if (i) { split(x, w, FS); uid[p] = w[3] } else { sub(/^[^:]*:[^:]*:/, "", x); if (length(x) > length(cgroup[p])) { gsub(/[[:cntrl:]]/, "?", x); cgroup[p] = x } }
    }
    close(c)
    print "process", "pid", "ppid", "uid", "threads", "wall_ms", "run_ms", "wait_ms", "late_ms", "unseen_ms", "blocked_ms", "switches", "samples", "listed", "cgroup", "comm"
    for (i = 1; i <= n; i++) {
        p = list[i]
        printf "p\t%d\t%d\t%s\t%d\t%.0f\t%.3f\t%.3f\t%.1f\t%.1f\t%.0f\t%d\t%d\t%d\t%s\t%s\n", p, parent[p], uid[p], alive[p], life[p], run_of[p], wait_of[p], late[p], unseen[p], stuck_of[p], turn_of[p], sampled[p], listed[p], cgroup[p], name[p]
    }
}
function activities(  i, j, m, n, x, u, w, r, all, H, P, C, D, L) {
    print "activity", "pid", "state", "call", "a0", "a1", "a2", "wchan", "target", "held_ms", "part_ms", "samples", "threads", "longest_ms"
    for (i = 1; i <= key_n; i++) {
        x = keys[i]; split(x, w, FS); if (!(w[1] in kept)) continue
        if (w[8] != "") w[8] = w[8] in target && target[w[8]] != "" ? target[w[8]] : "fd"
        r = w[1]; for (j = 2; j <= 8; j++) r = r FS w[j]
        if (!(r in C)) all[++n] = r
        m = split(whose[x], u, " "); for (j = 1; j <= m; j++) if (!((r, u[j]) in of)) { of[r, u[j]]; D[r]++ }
        H[r] += held[x]; P[r] += part[x]; C[r] += count[x]; if (longest[x] > L[r]) L[r] = longest[x]
    }
    for (i = 1; i <= n && i <= 4000; i++) { r = all[i]; printf "a\t%s\t%.0f\t%.1f\t%d\t%d\t%.0f\n", r, H[r], P[r], C[r], D[r], L[r] }
}
function rows(  i, k) {
    print "thread", "pid", "tid", "samples", "life_ms", "run_ms", "wait_ms", "blocked_ms", "switches", "wchan_ms", "context_ms", "voluntary", "involuntary", "cpus", "wchan", "awake_ms", "comm"
    for (i = 1; i <= tasks; i++) {
        k = order[i]; if (!listed[pid[k]]) continue
        printf "t\t%d\t%d\t%d\t%.0f\t%.3f\t%.3f\t%.0f\t%d\t%.0f\t%s\t%s\t%.0f\t%s\n", pid[k], tid[k], looks[k] + 1, seen[k] - first[k], ran[k], waited[k] + late_of[k], stuck[k], turned[k], top[k], \
            (k in context ? context[k] : FS FS FS), top_at[k], never_slept[k], who[k] | order_threads
    }
    close(order_threads)
}
END { report() }
