//! Processes and their address spaces, as the records of a capture describe them over time.

use std::collections::HashMap;
use std::rc::Rc;

/// The index of a program or library in the list of modules.
pub type ModuleId = u32;

/// A range of addresses that shows a file from an offset on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub file_offset: u64,
    pub module: ModuleId,
}

impl Mapping {
    /// The offset in the file that an address shows.
    pub fn offset_of(&self, address: u64) -> u64 {
        (address - self.start).wrapping_add(self.file_offset)
    }
}

/// The mappings of a process in order of address, none over another. `version` is new with every change.
#[derive(Debug, Clone, Default)]
pub struct AddressSpace {
    pub version: u32,
    mappings: Vec<Mapping>,
}

impl AddressSpace {
    /// The mapping that contains an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let at = self.mappings.partition_point(|item| item.start <= address);
        self.mappings[..at].last().filter(|item| address < item.end)
    }

    /// Add a mapping; parts of older ones below it are cut away, as the kernel does.
    fn add(&mut self, new: Mapping) {
        let first = self.mappings.partition_point(|item| item.end <= new.start);
        let past = self.mappings.partition_point(|item| item.start < new.end).max(first);
        let mut parts = [None; 3];
        if let Some(before) = self.mappings[first..past].first().filter(|item| item.start < new.start) {
            parts[0] = Some(Mapping { end: new.start, ..*before });
        }
        parts[1] = Some(new);
        if let Some(behind) = self.mappings[first..past].last().filter(|item| item.end > new.end) {
            let file_offset = behind.offset_of(new.end);
            parts[2] = Some(Mapping { start: new.end, file_offset, ..*behind });
        }
        self.mappings.splice(first..past, parts.into_iter().flatten());
    }
}

/// All threads and address spaces at one time of a capture.
#[derive(Default)]
pub struct Processes {
    spaces: HashMap<u32, Rc<AddressSpace>>,
    names: HashMap<u32, u32>,
    versions: u32,
}

impl Processes {
    /// The name of a thread as an index, or None.
    pub fn name_of(&self, tid: u32) -> Option<u32> {
        self.names.get(&tid).copied()
    }

    /// The address space of a process; an empty one where nothing is known.
    pub fn space_of(&mut self, pid: u32) -> Rc<AddressSpace> {
        let versions = &mut self.versions;
        Rc::clone(self.spaces.entry(pid).or_insert_with(|| {
            *versions += 1;
            Rc::new(AddressSpace { version: *versions, ..AddressSpace::default() })
        }))
    }

    pub fn add_mapping(&mut self, pid: u32, mapping: Mapping) {
        if mapping.start < mapping.end {
            self.change(pid, |space| space.add(mapping));
        }
    }

    /// Give the address space of a process a new version: addresses in it have other names from now on.
    pub fn renew(&mut self, pid: u32) {
        self.change(pid, |_| {});
    }

    /// Name a thread. Mappings of the program before an `exec` stay until others take their place: the stacks of the
    /// system call that starts the new one are still in them.
    pub fn set_name(&mut self, tid: u32, name: u32) {
        self.names.insert(tid, name);
    }

    /// A new thread has the name of the one that started it, a new process its address space too.
    pub fn fork(&mut self, pid: u32, tid: u32, parent_pid: u32, parent_tid: u32) {
        if let Some(name) = self.name_of(parent_tid) {
            self.names.insert(tid, name);
        }
        if pid != parent_pid {
            let space = self.space_of(parent_pid);
            self.spaces.insert(pid, space);
        }
    }

    fn change(&mut self, pid: u32, change: impl FnOnce(&mut AddressSpace)) {
        let mut space = self.space_of(pid);
        self.spaces.remove(&pid);
        self.versions += 1;
        let own = Rc::make_mut(&mut space);
        own.version = self.versions;
        change(own);
        self.spaces.insert(pid, space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, module: u32) -> Mapping {
        Mapping { start, end, file_offset: 0, module }
    }

    #[test]
    fn a_new_mapping_cuts_older_ones() {
        let mut processes = Processes::default();
        processes.add_mapping(1, mapping(0x1000, 0x5000, 0));
        processes.add_mapping(1, mapping(0x2000, 0x3000, 1));
        let space = processes.space_of(1);
        let found: Vec<_> =
            [0xfff, 0x1000, 0x2000, 0x3000, 0x5000].map(|at| space.find(at).map(|item| item.module)).to_vec();
        assert_eq!(found, [None, Some(0), Some(1), Some(0), None]);
        assert_eq!(space.find(0x3010).map(|item| item.offset_of(0x3010)), Some(0x2010));
    }

    #[test]
    fn a_child_has_the_space_of_its_parent_and_changes_its_own() {
        let mut processes = Processes::default();
        processes.set_name(1, 7);
        processes.add_mapping(1, mapping(0, 16, 0));
        processes.fork(2, 2, 1, 1);
        assert_eq!(processes.name_of(2), Some(7));
        assert!(processes.space_of(2).find(8).is_some());
        processes.add_mapping(2, mapping(0, 16, 1));
        let found = [1, 2].map(|pid| processes.space_of(pid).find(8).map(|item| item.module));
        assert_eq!(found, [Some(0), Some(1)]);
    }

    #[test]
    fn every_change_is_a_new_version() {
        let mut processes = Processes::default();
        let first = processes.space_of(1).version;
        processes.add_mapping(1, mapping(0, 16, 0));
        let second = processes.space_of(1).version;
        processes.fork(2, 2, 1, 1);
        assert_ne!(first, second);
        assert_eq!(processes.space_of(2).version, second);
    }
}
