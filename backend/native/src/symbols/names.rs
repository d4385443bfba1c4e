//! Names of functions as people write them.

use std::borrow::Cow;

use cpp_demangle::{DemangleOptions, Symbol};

/// What is appended to the name of a stub that calls a function of another library.
const PLT: &[u8] = b"@plt";
/// A name longer than this is shown as it is: demangled ones grow fast.
const MANGLED_MAX: usize = 4096;

/// The name without C++ or Rust mangling: without parameters and hashes, as perf prints it.
pub fn demangle(name: &[u8]) -> Cow<'_, [u8]> {
    if let Some(function) = name.strip_suffix(PLT) {
        return match demangle(function) {
            Cow::Borrowed(_) => Cow::Borrowed(name),
            Cow::Owned(plain) => Cow::Owned([&plain, PLT].concat()),
        };
    }
    if !name.starts_with(b"_Z") && !name.starts_with(b"_R") || name.len() > MANGLED_MAX {
        return Cow::Borrowed(name);
    }
    let Ok(text) = std::str::from_utf8(name) else { return Cow::Borrowed(name) };
    if let Ok(plain) = rustc_demangle::try_demangle(text) {
        return Cow::Owned(format!("{plain:#}").into_bytes());
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    match Symbol::new(text).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok()) {
        Some(plain) => Cow::Owned(plain.into_bytes()),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_become_readable() {
        assert_eq!(&*demangle(b"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), b"core::fmt::Formatter::pad");
        assert_eq!(
            &*demangle(b"_ZNSt6vectorIiSaIiEE9push_backERKi"),
            b"std::vector<int, std::allocator<int> >::push_back"
        );
        assert_eq!(&*demangle(b"_Znwm@plt"), b"operator new@plt");
        assert_eq!(&*demangle(b"write@plt"), b"write@plt");
        assert_eq!(&*demangle(b"main"), b"main");
        assert_eq!(&*demangle(b"_Znonsense"), b"_Znonsense");
    }
}
