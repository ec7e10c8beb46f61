//! Words that LLVM's demangler has for what `cpp_demangle` calls by others.

/// Integer types that LLVM's demangler writes as a suffix of the number, and that suffix.
pub(crate) const SUFFIXES: &[(&str, &str)] = &[
    ("(unsigned int)", "u"),
    ("(long)", "l"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(unsigned long long)", "ull"),
];

/// Classes that the mangling abbreviates: the name that `cpp_demangle` writes, the name that LLVM's demangler writes, and LLVM's name if a
/// constructor or destructor shows that the class is a template.
pub(crate) const ABBREVIATED: &[(&str, &str, &str)] = &[
    ("std::string", "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>"),
    (
        "std::basic_istream<char, std::char_traits<char> >",
        "std::istream",
        "std::basic_istream<char, std::char_traits<char>>",
    ),
    ("std::ostream", "std::ostream", "std::basic_ostream<char, std::char_traits<char>>"),
    (
        "std::basic_iostream<char, std::char_traits<char> >",
        "std::iostream",
        "std::basic_iostream<char, std::char_traits<char>>",
    ),
];

/// Prefixes of the functions that thread-local variables have: `cpp_demangle`'s words and LLVM's.
pub(crate) const THREAD_LOCAL: [(&str, &str); 2] = [
    ("TLS init function for ", "thread-local initialization routine for "),
    ("TLS wrapper function for ", "thread-local wrapper routine for "),
];
