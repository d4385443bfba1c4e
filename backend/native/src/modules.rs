//! Programs and libraries of a capture, and the frames of their addresses.

use std::collections::HashMap;
use std::path::PathBuf;

use ahash::RandomState;
use memmap2::Mmap;

use crate::bytes::{u32_at, u64_at};
use crate::error::Result;
use crate::mapped::map_file;
use crate::processes::ModuleId;
use crate::symbols::jitdump::JitDump;
use crate::symbols::kernel::{read_kallsyms, split_module};
use crate::symbols::names::demangle;
use crate::symbols::programs::{self, Program};
use crate::symbols::table::{Located, SymbolTable};
use crate::symbols::{elf, perf_map};
use crate::trie::{FrameKind, TrieBuilder};

const KERNEL: &[u8] = b"[kernel.kallsyms]";
const UNKNOWN: &[u8] = b"[unknown]";
const NO_FRAME: u32 = u32::MAX;
/// Frames without a symbol that are distinguished by their offset.
const UNNAMED_MAX: usize = 200_000;
const ANY_OFFSET: u64 = u64::MAX;
/// Processes of a module that are remembered.
const PLACES: usize = 4;

/// Kernel functions in which a CPU does nothing (x86-64 and arm64), as `perf_lines.IDLE_FUNCTIONS`.
const IDLE_FUNCTIONS: [&[u8]; 34] = [
    b"default_idle",
    b"default_idle_call",
    b"arch_cpu_idle",
    b"cpuidle_enter",
    b"cpuidle_enter_state",
    b"cpuidle_idle_call",
    b"do_idle",
    b"cpu_idle",
    b"cpu_idle_loop",
    b"cpu_startup_entry",
    b"intel_idle",
    b"intel_idle_irq",
    b"intel_idle_ibrs",
    b"intel_idle_s2idle",
    b"mwait_idle",
    b"mwait_idle_with_hints.constprop.0",
    b"acpi_idle_enter",
    b"acpi_idle_do_entry",
    b"acpi_safe_halt",
    b"acpi_processor_ffh_cstate_enter",
    b"poll_idle",
    b"native_safe_halt",
    b"pv_native_safe_halt",
    b"amd_e400_idle",
    b"cpu_do_idle",
    b"default_enter_idle",
    b"haltpoll_enter_idle",
    b"xen_safe_halt",
    b"hv_safe_halt",
    b"kvm_halt",
    b"tick_nohz_idle_enter",
    b"tick_nohz_idle_exit",
    b"psci_enter_idle_state",
    b"__cpuidle_text_start",
];

/// Whether a kernel function is one in which a CPU does nothing.
pub fn is_idle_function(name: &[u8]) -> bool {
    IDLE_FUNCTIONS.contains(&name)
}

/// In which call chains functions that a compiler inlined are frames of their own.
///
/// To find them, debugging information is read, which costs more than everything else for chains of frame pointers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inlining {
    Never,
    /// In those that come from copies of stacks, as perf does.
    #[default]
    OfCopies,
    Always,
}

/// Where symbols come from. All paths are of files that the caller chose.
#[derive(Debug, Clone, Default)]
pub struct SymbolSources {
    /// A copy of `/proc/kallsyms` of the host.
    pub kallsyms: Option<PathBuf>,
    /// A directory with files named by build ID, hexadecimal, or as `FileId::key` names an inode.
    pub store: Option<PathBuf>,
    /// A directory in which paths of the capture are looked up; a file must have the build ID that the capture has.
    pub root: Option<PathBuf>,
    /// A directory with copies of `perf-PID.map` and `jit-PID.dump`.
    pub perf_maps: Option<PathBuf>,
    pub inlining: Inlining,
}

/// Where a process maps a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub pid: u32,
    pub start: u64,
    pub end: u64,
}

/// A module that samples are in, and how many symbols of it are known.
#[derive(Debug, Clone)]
pub struct UsedModule {
    /// The path in the mount namespace of its processes; of memory without a file, `/tmp/perf-PID.map`.
    pub path: String,
    /// The name of its file in the store; None where the capture has neither build ID nor inode.
    pub key: Option<String>,
    pub is_anonymous: bool,
    /// The first processes that mapped it, and the last ones.
    pub places: Vec<Place>,
    /// Samples whose innermost function is in it.
    pub samples: u64,
    pub symbols: usize,
}

/// Which file a mapping shows, as far as the capture tells.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileId {
    BuildId(Vec<u8>),
    /// Major and minor number of the device, inode and its generation: 4, 4, 8 and 8 bytes, little-endian.
    Inode([u8; 24]),
    Unknown,
}

impl FileId {
    /// The name of the file in the store.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::BuildId(id) => Some(to_hexadecimal(id)),
            Self::Inode(bytes) => {
                let (major, minor) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
                let (inode, generation) = (u64_at(bytes, 8)?, u64_at(bytes, 16)?);
                Some(format!("inode-{major:x}-{minor:x}-{inode:x}-{generation:x}"))
            }
            Self::Unknown => None,
        }
    }
}

/// What a module is. The same path is another file in another mount namespace, or after an update.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Origin {
    File(Vec<u8>, FileId),
    /// Memory without a file, of one process: code that was generated.
    Anonymous(u32),
}

struct Module {
    /// How it is shown.
    name: Vec<u8>,
    kind: FrameKind,
    places: Vec<Place>,
    origin: Origin,
    /// Read when the first address is in it.
    table: Option<SymbolTable>,
    /// The frames of the symbols, by place.
    frames: Vec<u32>,
}

/// All modules, and the symbols of the kernel.
pub struct Modules {
    sources: SymbolSources,
    build_ids: HashMap<Vec<u8>, Vec<u8>>,
    modules: Vec<Module>,
    by_origin: HashMap<Origin, ModuleId>,
    kernel: SymbolTable,
    kernel_frames: Vec<u32>,
    /// The modules of the frames.
    owners: HashMap<u32, ModuleId, RandomState>,
    names: HashMap<(ModuleId, u64), u32, RandomState>,
    /// Times of the capture are those of CLOCK_MONOTONIC, as the times of JIT compilers are.
    is_monotonic: bool,
    jit: HashMap<u32, Option<JitDump<Mmap>>>,
}

const CLOCK_MONOTONIC: i32 = 1;

/// Module of addresses in the kernel; no mapping has it.
const KERNEL_MODULE: ModuleId = ModuleId::MAX;
/// Module of addresses that no mapping contains.
const NO_MODULE: ModuleId = ModuleId::MAX - 1;

impl Modules {
    pub fn new(sources: SymbolSources, build_ids: HashMap<Vec<u8>, Vec<u8>>) -> Self {
        let text = sources.kallsyms.as_ref().and_then(|path| std::fs::read(path).ok());
        let kernel = text.and_then(|text| read_kallsyms(&text)).unwrap_or_default();
        let kernel_frames = vec![NO_FRAME; kernel.len()];
        Self {
            sources,
            build_ids,
            modules: Vec::new(),
            by_origin: HashMap::new(),
            kernel,
            kernel_frames,
            owners: HashMap::default(),
            names: HashMap::default(),
            is_monotonic: false,
            jit: HashMap::new(),
        }
    }

    /// State the clock of the capture.
    pub fn with_clock(self, clock: Option<i32>) -> Self {
        Self { is_monotonic: clock == Some(CLOCK_MONOTONIC), ..self }
    }

    /// Go forward to a time in the dump of a process. Return whether names of addresses changed.
    pub fn advance_jit(&mut self, pid: u32, time: u64) -> bool {
        let Some(folder) = &self.sources.perf_maps else { return false };
        let open = || JitDump::open(map_file(&folder.join(format!("jit-{pid}.dump"))).ok()?, self.is_monotonic);
        self.jit.entry(pid).or_insert_with(open).as_mut().is_some_and(|dump| dump.advance(time))
    }

    /// The module that a mapping of a process shows.
    pub fn of_mapping(&mut self, pid: u32, path: &[u8], file: FileId) -> ModuleId {
        let is_anonymous = path.is_empty()
            || path.starts_with(b"//anon")
            || path.starts_with(b"/dev/zero")
            || path.starts_with(b"/anon_hugepage")
            || path.starts_with(b"[anon:");
        // The list of build IDs at the end of a capture knows only paths.
        let listed = || self.build_ids.get(path).map_or(FileId::Unknown, |id| FileId::BuildId(id.clone()));
        let file = match file {
            FileId::Unknown => listed(),
            FileId::Inode(_) if self.build_ids.contains_key(path) => listed(),
            known => known,
        };
        let origin = if is_anonymous { Origin::Anonymous(pid) } else { Origin::File(path.to_vec(), file) };
        if let Some(known) = self.by_origin.get(&origin) {
            return *known;
        }
        let is_jit = is_anonymous || path.starts_with(b"/memfd:") || path.starts_with(b"anon_inode:");
        let name = if is_anonymous { format!("/tmp/perf-{pid}.map").into_bytes() } else { path.to_vec() };
        let id = self.modules.len() as ModuleId;
        self.modules.push(Module {
            name,
            kind: if is_jit { FrameKind::Jit } else { FrameKind::User },
            places: Vec::new(),
            origin: origin.clone(),
            table: None,
            frames: Vec::new(),
        });
        self.by_origin.insert(origin, id);
        id
    }

    /// Remember where a process maps a module: the first and the last two processes are enough to reach its file.
    pub fn add_place(&mut self, module: ModuleId, place: Place) {
        let places = &mut self.modules[module as usize].places;
        if places.iter().all(|known| known.pid != place.pid) {
            if places.len() == PLACES {
                places.remove(PLACES / 2);
            }
            places.push(place);
        }
    }

    pub fn inlining(&self) -> Inlining {
        self.sources.inlining
    }

    /// The modules that stacks are in, and the samples in the kernel; `samples` are counted by their innermost frames.
    pub fn list_used(&self, samples: &[u64]) -> (Vec<UsedModule>, u64) {
        let mut of_module = vec![0; self.modules.len()];
        let mut of_kernel = 0;
        for (frame, module) in &self.owners {
            let count = samples.get(*frame as usize).copied().unwrap_or(0);
            match of_module.get_mut(*module as usize) {
                Some(sum) => *sum += count,
                None => of_kernel += count,
            }
        }
        let used =
            self.modules.iter().zip(of_module).filter_map(|(item, count)| Some((item, count, item.table.as_ref()?)));
        let modules = used.map(|(item, samples, table)| UsedModule {
            path: String::from_utf8_lossy(&item.name).into_owned(),
            key: match &item.origin {
                Origin::File(_, file) => file.key(),
                Origin::Anonymous(_) => None,
            },
            is_anonymous: matches!(item.origin, Origin::Anonymous(_)),
            places: item.places.clone(),
            samples,
            symbols: table.len() + self.count_generated(&item.origin),
        });
        (modules.collect(), of_kernel)
    }

    /// How many functions the dump of a compiler names.
    fn count_generated(&self, origin: &Origin) -> usize {
        let Origin::Anonymous(pid) = origin else { return 0 };
        self.jit.get(pid).and_then(Option::as_ref).map_or(0, JitDump::count_functions)
    }

    /// How many symbols of the kernel are known.
    pub fn count_kernel_symbols(&self) -> usize {
        self.kernel.len()
    }

    /// The frame of an address in the kernel.
    pub fn kernel_frame(&mut self, trie: &mut TrieBuilder, address: u64) -> Result<u32> {
        let Located::Symbol(place) = self.kernel.locate(address) else {
            let frame = self.unnamed(trie, KERNEL_MODULE, KERNEL, address)?;
            self.owners.insert(frame, KERNEL_MODULE);
            return Ok(frame);
        };
        if self.kernel_frames[place] == NO_FRAME {
            let (name, module) = split_module(self.kernel.name(place));
            let module = if module.is_empty() { KERNEL } else { module };
            let kind = if is_idle_function(name) { FrameKind::Idle } else { FrameKind::Kernel };
            self.kernel_frames[place] = trie.add_frame(name, module, kind, 0)?;
            self.owners.insert(self.kernel_frames[place], KERNEL_MODULE);
        }
        Ok(self.kernel_frames[place])
    }

    /// The frame of an address of a program that no mapping contains.
    pub fn unmapped_frame(&mut self, trie: &mut TrieBuilder) -> Result<u32> {
        let key = (NO_MODULE, 0);
        if let Some(known) = self.names.get(&key) {
            return Ok(*known);
        }
        let frame = trie.add_frame(UNKNOWN, b"", FrameKind::Unknown, 0)?;
        self.names.insert(key, frame);
        Ok(frame)
    }

    /// The frame of an offset in a module; of memory without a file, that of an address.
    pub fn frame(&mut self, trie: &mut TrieBuilder, module: ModuleId, offset: u64, address: u64) -> Result<u32> {
        self.load(module);
        let item = &mut self.modules[module as usize];
        if let Origin::Anonymous(pid) = &item.origin
            && let Some(Some(dump)) = self.jit.get(pid)
            && let Some(name) = dump.find(address)
        {
            let frame = trie.add_frame(name, &item.name, item.kind, 0)?;
            self.owners.insert(frame, module);
            return Ok(frame);
        }
        let at = if matches!(item.origin, Origin::Anonymous(_)) { address } else { offset };
        let table = item.table.as_ref().expect("loaded above");
        let start = match table.locate(at) {
            Located::Symbol(place) => {
                if item.frames[place] == NO_FRAME {
                    let name = demangle(table.name(place));
                    item.frames[place] = trie.add_frame(&name, &item.name, item.kind, 0)?;
                    self.owners.insert(item.frames[place], module);
                }
                return Ok(item.frames[place]);
            }
            Located::Function(start) => start,
            Located::Nothing => at,
        };
        let name = std::mem::take(&mut item.name);
        let frame = self.unnamed(trie, module, &name, start);
        self.modules[module as usize].name = name;
        let frame = frame?;
        self.owners.insert(frame, module);
        Ok(frame)
    }

    /// A frame without a symbol: `MODULE+0xOFFSET`, with the offset of its function where that is known. After very many
    /// of them, all others of a module are one frame.
    fn unnamed(&mut self, trie: &mut TrieBuilder, module: ModuleId, name: &[u8], offset: u64) -> Result<u32> {
        let is_room = self.names.len() < UNNAMED_MAX;
        let key = (module, if is_room { offset } else { ANY_OFFSET });
        if let Some(known) = self.names.get(&(module, offset)).or_else(|| self.names.get(&key)) {
            return Ok(*known);
        }
        let short = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        let place = if is_room { format!("+{offset:#x}") } else { "+?".to_owned() };
        let frame = trie.add_frame(&[short, place.as_bytes()].concat(), name, FrameKind::Unknown, 0)?;
        self.names.insert(key, frame);
        Ok(frame)
    }

    /// Read the symbols of a module once.
    fn load(&mut self, module: ModuleId) {
        let item = &self.modules[module as usize];
        if item.table.is_some() {
            return;
        }
        let table = match &item.origin {
            Origin::Anonymous(pid) => self.read_perf_map(*pid),
            Origin::File(path, file) => self.read_file(path, file),
        };
        let table = table.unwrap_or_default();
        let item = &mut self.modules[module as usize];
        item.frames = vec![NO_FRAME; table.len()];
        item.table = Some(table);
    }

    fn read_perf_map(&self, pid: u32) -> Option<SymbolTable> {
        let path = self.sources.perf_maps.as_ref()?.join(format!("perf-{pid}.map"));
        Some(perf_map::read_perf_map(&std::fs::read(path).ok()?))
    }

    fn read_file(&self, path: &[u8], file: &FileId) -> Option<SymbolTable> {
        let find_debug = |id: &[u8]| self.find_debug_file(id, file);
        if let (Some(store), Some(key)) = (&self.sources.store, file.key()) {
            let stored = map_file(&store.join(key)).ok();
            if let Some(symbols) = stored.and_then(|bytes| elf::read_elf(&bytes, find_debug)) {
                return Some(symbols.table);
            }
        }
        let root = self.sources.root.as_ref()?;
        let inside = std::str::from_utf8(path).ok()?.strip_prefix('/')?;
        let symbols = elf::read_elf(&map_file(&root.join(inside)).ok()?, find_debug)?;
        let is_same = match (file, symbols.build_id.as_deref()) {
            (FileId::BuildId(expected), Some(own)) => expected.starts_with(own) || own.starts_with(expected),
            _ => false,
        };
        is_same.then_some(symbols.table)
    }

    /// The name of a module as it is shown.
    pub fn name_of(&self, module: ModuleId) -> &[u8] {
        self.modules.get(module as usize).map_or(&[], |item| &item.name)
    }

    /// The file of a module: its name in the store, and whether it is memory without a file.
    pub fn file_of(&self, module: ModuleId) -> (Option<String>, bool) {
        match self.modules.get(module as usize).map(|item| &item.origin) {
            Some(Origin::File(_, file)) => (file.key(), false),
            Some(Origin::Anonymous(_)) => (None, true),
            None => (None, false),
        }
    }

    /// Where the function at an offset in a module begins and ends; in memory without a file, at an address.
    pub fn range_of(&mut self, module: ModuleId, at: u64) -> Option<(u64, u64)> {
        self.load(module);
        self.modules[module as usize].table.as_ref()?.range_at(at)
    }

    /// Where the function at an address of the kernel begins and ends.
    pub fn range_in_kernel(&self, address: u64) -> Option<(u64, u64)> {
        self.kernel.range_at(address)
    }

    /// The files of a module, for more than its symbols; None where they are not at hand, or of another build.
    pub fn open_program(&self, module: ModuleId) -> Option<Program> {
        let item = self.modules.get(module as usize)?;
        let Origin::File(path, file) = &item.origin else { return None };
        programs::open_program(&self.sources, path, file)
    }

    /// Debugging symbols apart from their program: stored as `KEY-debug`, or installed as `-dbg` packages do.
    fn find_debug_file(&self, build_id: &[u8], file: &FileId) -> Option<Mmap> {
        let stored = || map_file(&self.sources.store.as_ref()?.join(format!("{}-debug", file.key()?))).ok();
        stored().or_else(|| self.find_installed_debug_file(build_id))
    }

    fn find_installed_debug_file(&self, build_id: &[u8]) -> Option<Mmap> {
        let name = to_hexadecimal(build_id);
        let (folder, file) = name.split_at_checked(2)?;
        let root = self.sources.root.as_ref()?;
        map_file(&root.join("usr/lib/debug/.build-id").join(folder).join(format!("{file}.debug"))).ok()
    }
}

pub fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
