//! What a frame of text is, from its name, its module and its address.

use crate::modules::is_idle_function;
use crate::trie::FrameKind;

const KERNEL_HALF: u64 = 0xffff_0000_0000_0000;
const USER_BRACKETS: [&[u8]; 8] =
    [b"[vdso]", b"[vdso32]", b"[vsyscall]", b"[heap]", b"[stack]", b"[unknown]", b"[uprobes]", b"[vvar]"];

/// The kind of a frame.
pub fn frame_kind(name: &[u8], module: &[u8], address: u64) -> FrameKind {
    if name.is_empty() || name == b"[unknown]" {
        return FrameKind::Unknown;
    }
    if is_jit(module) {
        return FrameKind::Jit;
    }
    let is_bracketed = module.starts_with(b"[") && !USER_BRACKETS.contains(&module);
    if is_bracketed || is_kernel_file(module) || address >= KERNEL_HALF && module != b"[vsyscall]" {
        return if is_idle_function(name) { FrameKind::Idle } else { FrameKind::Kernel };
    }
    FrameKind::User
}

/// Memory of code that was generated: `perf-12.map`, `jitted-12-3.so`, `jit-12.dump`, and memory without a file.
fn is_jit(module: &[u8]) -> bool {
    let bare = module.strip_prefix(b"/").unwrap_or(module);
    let file = module.rsplit(|byte| *byte == b'/').next().unwrap_or(module);
    bare.starts_with(b"memfd:")
        || module == b"//anon"
        || module.starts_with(b"[anon")
        || module.starts_with(b"anon_inode")
        || module.ends_with(b".jitdump")
        || numbered(module, b"perf-", b".map")
        || module.contains(&b'/')
            && (numbered(file, b"jit-", b".dump") || file.starts_with(b"jitted-") && file.ends_with(b".so"))
}

/// Whether a text ends in `PREFIX`, digits and `SUFFIX`.
fn numbered(text: &[u8], prefix: &[u8], suffix: &[u8]) -> bool {
    let Some(front) = text.strip_suffix(suffix) else { return false };
    let digits = front.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && front[..front.len() - digits].ends_with(prefix)
}

/// Kernel images, modules and BPF programs.
fn is_kernel_file(module: &[u8]) -> bool {
    let file = module.rsplit(|byte| *byte == b'/').next().unwrap_or(module);
    let bare = [b".xz".as_slice(), b".zst", b".gz"].iter().find_map(|end| module.strip_suffix(*end)).unwrap_or(module);
    let is_image = file.strip_prefix(b"vmlinux").or_else(|| file.strip_prefix(b"vmlinuz"));
    bare.ends_with(b".ko")
        || is_image.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
        || module.starts_with(b"bpf_prog_")
        || module.starts_with(b"[bpf")
        || module.starts_with(b"[guest.kernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_tell_what_a_frame_is() {
        let kind = |module: &str| frame_kind(b"f", module.as_bytes(), 0x1000);
        assert_eq!(kind("/usr/lib/libc.so.6"), FrameKind::User);
        assert_eq!(kind("/tmp/perf-12.map"), FrameKind::Jit);
        assert_eq!(kind("/tmp/.debug/jit/x/jitted-12-7.so"), FrameKind::Jit);
        assert_eq!(kind("[kernel.kallsyms]"), FrameKind::Kernel);
        assert_eq!(kind("/lib/modules/6.1/kernel/fs/ext4.ko.xz"), FrameKind::Kernel);
        assert_eq!(kind("/boot/vmlinux-6.1"), FrameKind::Kernel);
        assert_eq!(kind("[vdso]"), FrameKind::User);
        assert_eq!(frame_kind(b"default_idle", b"[kernel.kallsyms]", 0), FrameKind::Idle);
        assert_eq!(frame_kind(b"f", b"[vsyscall]", u64::MAX - 4096), FrameKind::User);
        assert_eq!(frame_kind(b"[unknown]", b"/bin/x", 0), FrameKind::Unknown);
    }
}
