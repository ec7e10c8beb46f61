//! C++ names compared with llvm-cxxfilt 22: a sample of each rule, and the known differences.

use foldsym_demangle::{Query, demangle, short};

/// A mangled name and llvm-cxxfilt's answer, in turn. `cargo xtask demangle --sample` asks it again.
const SAMPLE: &str = include_str!("data/llvm.txt");

fn sample() -> impl Iterator<Item = (&'static str, &'static str)> {
    SAMPLE.lines().step_by(2).zip(SAMPLE.lines().skip(1).step_by(2))
}

#[test]
fn names_are_spelled_as_llvm_spells_them() {
    let wrong: Vec<String> = sample()
        .filter_map(|(name, theirs)| {
            let ours = demangle(name.as_bytes()).unwrap_or_default();
            (ours != theirs).then(|| format!("{name}\n  LLVM {theirs}\n  ours {ours}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(sample().count() > 400);
}

/// Known differences, with LLVM's answer. Remove the line of a name that becomes equal.
#[test]
fn what_differs_is_known() {
    for (name, theirs, ours) in [
        // Template parameters that a name declares are not parsed by cpp_demangle.
        ("_Z1fITnDaLi5EEvv", "void f<5>()", None),
        // Calls and operators in expressions have other brackets.
        (
            "_ZN4llvmlsINS_18raw_string_ostreamEA2_cEENSt9enable_ifIXaantsr3stdE14is_reference_vIT_Esr3stdE12is_base_of_vINS_11raw_ostreamES4_EEOS4_E4typeES6_RKT0_",
            "std::enable_if<!std::is_reference_v<llvm::raw_string_ostream> && std::is_base_of_v<llvm::raw_ostream, llvm::raw_string_ostream>, llvm::raw_string_ostream&&>::type llvm::operator<<<llvm::raw_string_ostream, char [2]>(llvm::raw_string_ostream&&, char const (&) [2])",
            Some(
                "std::enable_if<(!(std::is_reference_v<llvm::raw_string_ostream>))&&(std::is_base_of_v<llvm::raw_ostream, llvm::raw_string_ostream>), llvm::raw_string_ostream&&>::type llvm::operator<<<llvm::raw_string_ostream, char [2]>(llvm::raw_string_ostream&&, char const (&) [2])",
            ),
        ),
        // A function that returns a pointer to a function.
        (
            "_ZN7rocksdb21GetNoopDeleterForRoleILNS_14CacheEntryRoleE13EEEPFvRKNS_5SliceEPvEv",
            "void (*rocksdb::GetNoopDeleterForRole<(rocksdb::CacheEntryRole)13>())(rocksdb::Slice const&, void*)",
            Some(
                "void (*)(rocksdb::Slice const&, void*) rocksdb::GetNoopDeleterForRole<(rocksdb::CacheEntryRole)13>()",
            ),
        ),
        // LLVM's demangler leaves the name out.
        (
            "_ZN6icu_726number4impl10MicroPropsUt_D1Ev",
            "icu_72::number::impl::MicroProps::'unnamed'::~()",
            Some("icu_72::number::impl::MicroProps::'unnamed'::~MicroProps()"),
        ),
        // LLVM's demangler does not parse these.
        (
            "_ZN3URIcvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv",
            "_ZN3URIcvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv",
            Some(
                "URI::operator std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>()",
            ),
        ),
        (
            "_ZGTtNSt11logic_errorC2EPKc",
            "_ZGTtNSt11logic_errorC2EPKc",
            Some("transaction clone for std::logic_error::logic_error(char const*)"),
        ),
    ] {
        assert_eq!(demangle(name.as_bytes()).as_deref(), ours, "{name}");
        assert_ne!(ours, Some(theirs), "{name} is equal now");
    }
}

/// The functions that readers of the two names look for are the same.
#[test]
fn each_name_is_found_by_what_llvm_calls_it() {
    for (name, theirs) in sample() {
        assert!(Query::new(theirs).matches(name.as_bytes()), "{theirs}");
    }
}

/// Bytes of real names exchanged, doubled and left out, by a fixed sequence of numbers.
#[test]
fn mutants_of_names_do_no_harm() {
    let names: Vec<&[u8]> = sample().map(|(name, _)| name.as_bytes()).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let rounds = std::env::var("FOLDSYM_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    for _ in 0..rounds {
        let mut name = names[random(names.len())].to_vec();
        for _ in 0..1 + random(4) {
            let other = names[random(names.len())];
            let at = 2 + random(name.len() - 2);
            match random(4) {
                0 => name[at.min(2)] = other[random(other.len())],
                1 => name.truncate(at + 1),
                2 => {
                    let from = random(other.len());
                    name.splice(
                        at.min(name.len())..at.min(name.len()),
                        other[from..].iter().take(12).copied(),
                    );
                }
                _ => {
                    let at = at.min(name.len() - 1);
                    name[at] = other[random(other.len())];
                }
            }
        }
        let text = demangle(&name).unwrap_or_default();
        assert!(text.len() <= 64 << 10);
        let _ = short(&name);
        let _ = Query::new(&text).distance(&name);
    }
}
