# stdin: paths of /proc/PID/stat. Prints `gPID` for members of the groups and sessions in g, and PID for every other
# process that started at tick a or later. Leaves out x and processes that x started after tick b.
{
  f = $0
  if ((getline l < f) > 0) {
    split(f, w, "/")
    sub(/^.*\) /, "", l)
    split(l, s, " ")
    p = w[3]
    up[p] = s[2]; grp[p] = s[3]; ses[p] = s[4]; at[p] = s[20]; st[p] = s[1]
  }
  close(f)
}
END {
  for (p in at) {
    if (at[p] + 0 < a + 0 || p == x || st[p] == "Z" || st[p] == "X") continue
    if (at[p] + 0 > b + 0) {
      q = p
      for (i = 0; i < 64 && q > 1 && q != x; i++) q = up[q]
      if (q == x) continue
    }
    print ((index(g, " " grp[p] " ") || index(g, " " ses[p] " ")) ? "g" : "") p
  }
}
