# The commands of the login shell, before anything is forked. Sent as one line inside single quotes, so that csh, fish
# and sh pass it on unchanged: it must have no single quote, no exclamation mark and no line continuation.
umask 077
LC_ALL=C
export LC_ALL
CULPRIT_SH="@SHELL@"
# The first readings of the host, by shell builtins: they arrive even if a fork takes ten seconds.
N=${IFS#??}
s=
read -r u r </proc/uptime
for f in uptime loadavg stat meminfo pressure/cpu pressure/memory pressure/io
do n=0
s="$s@ 0 ${u%.*}${u#*.}0000000 /proc/$f$N"
while [ $n -lt 6 ] && read -r l
do s="$s$l$N"
n=$((n+1))
done </proc/$f
done 2>/dev/null
printf "CULPRIT1 kind=snapshot id=- part=samples len=%d sha256=- enc=identity raw=%d\n%s\n" ${#s} ${#s} "$s"
# The program arrives as base64 words that are short enough for any csh.
q=
for d in "base64 -d" "busybox base64 -d" "openssl base64 -d -A"
do IFS=
p="$*"
unset IFS
q=$(printf %s "$p" | $d 2>/dev/null @UNPACK@)
case $q in *CULPRIT-END*) break
esac
q=
done
# No decoder at all: awk can decode it, because the program is ASCII.
[ -n "$q" ] || q=$(printf "%s\n" "$@" | awk -v A=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/ -v c=%c "{n=length(\$0);for(i=1;i<=n;i+=4){x=0;k=0;for(j=0;j<4;j++){v=index(A,substr(\$0,i+j,1));x=x*64;if(v){x+=v-1;k++}}printf c,int(x/65536);if(k>2)printf c,int(x/256)%256;if(k>3)printf c,x%256}}")
case $q in *CULPRIT-END*) ;; *) printf "CULPRIT1 kind=refused id=- part=- len=24 sha256=- enc=identity raw=24\nreason reason.no_decoder\n"; exit 69; esac
set --
unset s l n u r f d p
eval "$q"
