//! Call chains out of copies of stacks, and inlined functions: of a recording, and compared with another reader.

use std::path::Path;
use std::sync::Arc;

use addr2line::gimli::Reader;
use culprit_native::inlined_frames::INLINED;
use culprit_native::modules::{Inlining, SymbolSources};
use culprit_native::profile::{Profile, read_profile};
use culprit_native::symbols::dwarf_units::Work;
use culprit_native::symbols::inlines::Inlines;
use culprit_native::symbols::programs::Program;
use culprit_native::trie::Limits;
use memmap2::Mmap;
use object::{Object, ObjectSymbol};

fn read_recording(store: Option<&str>, inlining: Inlining) -> Profile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let bytes = std::fs::read(folder.join("dwarf.data")).expect("the recording is there");
    let sources = SymbolSources { store: store.map(|name| folder.join(name)), inlining, ..SymbolSources::default() };
    read_profile(&bytes, sources, Limits::default()).expect("it can be read")
}

/// The frames of each sample from the outermost one inward; inlined ones have a mark.
fn list_stacks(profile: &Profile) -> Vec<Vec<String>> {
    let strings = &profile.frames.strings;
    let word = |at: i32| {
        let span = strings.offsets[at as usize] as usize..strings.offsets[at as usize + 1] as usize;
        String::from_utf8_lossy(&strings.blob[span]).into_owned()
    };
    let name = |node: usize| {
        let frame = profile.trie.frame[node] as usize;
        let mark = if profile.frames.flags[frame] & INLINED != 0 { " (inlined)" } else { "" };
        word(profile.frames.name[frame]) + mark
    };
    let stack = |node: &i32| {
        let mut names = Vec::new();
        let mut node = *node;
        while node > 0 {
            names.push(name(node as usize));
            node = profile.trie.parent[node as usize];
        }
        names.reverse();
        names
    };
    profile.columns.stack.iter().map(stack).collect()
}

#[test]
fn a_copy_of_a_stack_becomes_its_call_chain() {
    for stack in list_stacks(&read_recording(Some("store"), Inlining::Never)) {
        let functions: Vec<_> = stack.iter().map(String::as_str).filter(|name| !name.contains("+0x")).collect();
        // main calls down, which calls itself up to five times, then leaf.
        assert_eq!((functions[0], functions[1]), ("inlined", "main"));
        assert_eq!(*functions.last().expect("frames"), "leaf");
        let downs = &functions[2..functions.len() - 1];
        assert!((1..=6).contains(&downs.len()) && downs.iter().all(|name| *name == "down"), "{functions:?}");
    }
}

#[test]
fn inlined_functions_are_frames_below_their_caller() {
    let stacks = list_stacks(&read_recording(Some("store"), Inlining::OfCopies));
    let expected = ["leaf", "twice (inlined)", "mix (inlined)"].map(String::from);
    let inside = stacks.iter().filter(|stack| stack.ends_with(&expected)).count();
    // The rest is in the loop around them.
    assert!(inside * 2 > stacks.len(), "{stacks:?}");
}

#[test]
fn without_the_program_only_its_addresses_are_known() {
    for stack in list_stacks(&read_recording(None, Inlining::Always)) {
        assert!(stack[1..].iter().all(|name| name.contains("+0x")), "{stack:?}");
        assert_eq!(stack.last().map(|name| name.starts_with("inlined+0x")), Some(true));
    }
}

#[test]
fn without_work_there_are_only_symbols() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/store");
    let stored = std::fs::read_dir(folder).expect("the store is there").next().expect("it has a program");
    let file = std::fs::File::open(stored.expect("readable").path()).expect("readable");
    // SAFETY: nothing writes to the file while it is read.
    let program = Program { bytes: Arc::new(unsafe { Mmap::map(&file) }.expect("mapped")), debug: None };
    // The loop of `leaf`, whose file has addresses as offsets.
    let offset = 0x11d0;
    let find = |count| {
        let mut work = Work::new(count);
        let found = Inlines::open(&program, &mut work).and_then(|mut inlines| inlines.find(offset, &mut work));
        found.map_or(0, |origins| origins.len())
    };
    assert_eq!(find(100_000), 2);
    assert_eq!([0, 10, 100].map(find), [0; 3]);
}

/// Every function of this test is resolved by the crate addr2line too.
#[test]
fn inlined_functions_are_those_of_addr2line() {
    let path = std::env::current_exe().expect("a test is a program");
    let file = std::fs::File::open(&path).expect("readable");
    // SAFETY: nothing writes to this program while it runs.
    let bytes = Arc::new(unsafe { Mmap::map(&file) }.expect("mapped"));
    let program = Program { bytes: Arc::clone(&bytes), debug: None };
    let mut work = Work::new(usize::MAX);
    let mut inlines = Inlines::open(&program, &mut work).expect("tests have debugging information");
    let loader = addr2line::Loader::new(&path).expect("addr2line reads it");
    let parsed = object::File::parse(&bytes[..]).expect("ELF");
    let code = culprit_native::symbols::elf::list_code(&parsed);
    let (mut compared, mut with_inlines) = (0, 0);
    let functions = parsed.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0);
    for symbol in functions.step_by(3) {
        for address in (symbol.address()..symbol.address() + symbol.size()).step_by(29).take(20) {
            let mut theirs = Vec::new();
            let mut frames = loader.find_frames(address).expect("addr2line reads frames");
            while let Some(frame) = frames.next().expect("addr2line reads a frame") {
                theirs.push(frame.function.map(|function| function.name.to_slice().expect("a name").to_vec()));
            }
            // The outermost one is the function itself.
            theirs.pop();
            let offset = code.iter().find_map(|range| range.offset_of(address)).expect("code");
            let origins = inlines.find(offset, &mut work).unwrap_or_default();
            let ours: Vec<_> = origins.into_iter().map(|origin| inlines.name(origin, &mut work)).collect();
            assert_eq!(ours, theirs, "{address:#x}");
            compared += 1;
            with_inlines += usize::from(!theirs.is_empty());
        }
    }
    assert!(compared > 1000 && with_inlines > 20, "{compared}, {with_inlines}");
}
