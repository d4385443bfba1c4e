//! Call chains out of copies of stacks, by the tables that compilers write for exceptions and debuggers.

pub mod frames;
pub mod rules;
pub mod walk;
