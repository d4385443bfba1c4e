# Mount over files and directories for one command: [--file SOURCE TARGET]… [--run DIRECTORY NAME] -- COMMAND…
#
#   --file SOURCE TARGET     SOURCE appears at TARGET
#   --run DIRECTORY NAME     /run as it is, plus an empty directory NAME, created in DIRECTORY
#
# The caller runs this with `unshare --mount`, so that the machine keeps its files. It serves an sshd that was
# unpacked and not installed: that needs a user `sshd` in passwd and a directory /run/sshd.
set -eu

while [ "$1" != -- ]; do
    if [ "$1" = --file ]; then
        mount --bind "$2" "$3"
    else
        mount -t tmpfs -o mode=755,size=1m tmpfs "$2"
        for entry in /run/* /run/.[!.]*; do
            copy=$2/${entry##*/}
            if [ -L "$entry" ]; then
                cp -P "$entry" "$copy"
            elif [ -d "$entry" ]; then
                mkdir "$copy"
                mount --rbind "$entry" "$copy"
            elif [ -e "$entry" ]; then
                : >"$copy"
                mount --bind "$entry" "$copy"
            fi
        done
        mkdir -p "$2/$3"
        mount --rbind "$2" /run
    fi
    shift 3
done
shift
exec "$@"
