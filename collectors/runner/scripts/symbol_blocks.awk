# Runs of blocks of an ELF file that hold symbol tables and their strings (types 2, 11 and what they link to), notes
# (7), relocations of the PLT (4 or 9, with a section of their own), names of sections, and function starts. Of a Go
# program without a symbol table (2) also what names functions in `.gopclntab`. `too_large` if they exceed `max` bytes.
#
# The input are bytes of the file from `base` on, with the section headers at `offset`: `count` headers of `entry`
# bytes, which is 64 in 64-bit files, 40 in others. `names` is the index of the names of sections, `frames` and `size`
# the place of the function starts. The file itself is "$file".
function join(bytes, at, size,  v) { for (v = 0; size > 0; size--) v = v * 256 + bytes[at + size - 1]; return v }
function n(at, size) { return join(b, at + offset - base, size) }
function want(from, size,  k, first, last) {
    if (size <= 0 || from > 1e12 || size > max) { large = large || size > max; return }
    first = int(from / 4096); last = int((from + size - 1) / 4096)
    for (k = 1; k <= kept; k++) if (first <= till[k] + 1 && last >= start[k] - 1) {
        if (first < start[k]) start[k] = first
        if (last > till[k]) till[k] = last
        return
    }
    start[++kept] = first; till[kept] = last
}
function place_of(s) { return n(s * entry + 8 + 2 * w, w) }
function size_of(s) { return n(s * entry + 8 + 3 * w, w) }
function want_section(s) { want(place_of(s), size_of(s)) }
# Read bytes of the file to `x`, at most 64 KiB.
function load(from, size,  command, line, word, words, i, k) {
    split("", x)
    if (size > 65536 || from > 1e12) return
    k = -(from % 4096)
    command = sprintf("skip=%.0f count=%d", int(from / 4096), int((size - k + 4095) / 4096))
    command = "dd if=\"$file\" bs=4096 conv=sync " command " 2> .dd | od -An -v -tu1"
    while ((command | getline line) > 0) {
        words = split(line, word, " ")
        for (i = 1; i <= words; i++) x[k++] = word[i]
    }
    close(command)
}
# Names are in front of the tables of lines and files, addresses behind them. A table of another format is kept whole.
# The constants are those of Go 1.16, 1.18 and 1.20.
function want_go_table(from, size,  p, magic, at, names_end, functions) {
    load(from, 72)
    p = x[7]; magic = join(x, 0, 4); at = magic == 4294967290 ? 3 : magic == 4294967280 || magic == 4294967281 ? 4 : 0
    if (at && (p == 4 || p == 8)) {
        names_end = join(x, 8 + at * p, p); functions = join(x, 8 + (at + 3) * p, p)
        if (names_end > 0 && names_end <= functions && functions < size) {
            want(from, names_end); want(from + functions, size - functions)
            return
        }
    }
    want(from, size)
}
function want_go_sections(  s, i, at, bytes, name, table, shared, is_go) {
    at = place_of(names); bytes = size_of(names)
    if (at >= base && at + bytes <= base + have) for (i = 0; i < bytes; i++) x[i] = b[at - base + i]
    else load(at, bytes)
    for (s = 1; s < count; s++) {
        name = ""
        for (i = n(s * entry, 4); x[i] > 32 && x[i] < 127 && length(name) < 30; i++) name = name sprintf("%c", x[i] + 0)
        if (name == ".gopclntab" || name == ".data.rel.ro.gopclntab") table = s
        if (name == ".data.rel.ro") shared = s
        if (name == ".go.buildinfo") is_go = 1
        if (name == ".go.module") want_section(s)
    }
    if (table) want_go_table(place_of(table), size_of(table))
    # Where other linkers than that of Go put the table of a program that is loaded anywhere.
    else if (is_go && shared) want_section(shared)
}
{ for (i = 1; i <= NF; i++) b[have++] = $i }
END {
    w = entry == 64 ? 8 : 4
    want(0, 4096); want(offset, count * entry); want(frames, size)
    for (s = 0; s < count; s++) {
        type = n(s * entry + 4, 4)
        if (type == 2) has_symbols = 1
        if (type == 2 || type == 11) { want_section(s); want_section(n(s * entry + 8 + 4 * w, 4)) }
        is_plt = (type == 4 || type == 9) && int(n(s * entry + 8, 4) / 64) % 2
        if (type == 7 || s == names || is_plt) want_section(s)
    }
    if (!has_symbols && names > 0 && names < count) want_go_sections()
    for (k = 1; k <= kept; k++) blocks += till[k] - start[k] + 1
    if (large || blocks * 4096 > max) { print "too_large"; exit }
    for (k = 1; k <= kept; k++) printf "%.0f %.0f\n", start[k], till[k] - start[k] + 1
}
