//! Names that the Itanium C++ ABI reserves (5.1.4): vtables, type information, virtual thunks, initialization of
//! thread-local variables, and
//! functions of its runtime. How names of functions are built is read in `program/names/itanium.rs`.

/// Special names begin so.
const SPECIAL: &[u8] = b"_ZT";
const VTABLE: &[u8] = b"_ZTV";

/// The vtable of a base while an object of a derived class is constructed.
const CONSTRUCTION_VTABLE: &[u8] = b"_ZTC";

const TYPE_INFO: &[u8] = b"_ZTI";

/// The vtables of the runtime's classes for the type information of classes (2.9.4), and how many bases those describe.
const TYPE_INFO_VTABLES: &[(&[u8], Bases)] = &[
    (b"_ZTVN10__cxxabiv117__class_type_infoE", Bases::None),
    (b"_ZTVN10__cxxabiv120__si_class_type_infoE", Bases::One),
    (b"_ZTVN10__cxxabiv121__vmi_class_type_infoE", Bases::Listed),
];

/// The bases that the type information of a class has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bases {
    None,
    /// One at the start of the object, neither virtual nor private.
    One,
    /// A list, each with its offset.
    Listed,
}

/// Thunks of virtual functions: with a fixed offset, a virtual offset, and a covariant result.
const THUNKS: &[&[u8]] = &[b"_ZTh", b"_ZTv", b"_ZTc"];
const TLS_INIT: &[u8] = b"_ZTH";
const TLS_WRAPPER: &[u8] = b"_ZTW";

/// The identifier of an unnamed namespace.
pub(crate) const UNNAMED_NAMESPACE: &[u8] = b"_GLOBAL__N_";

/// Functions of the runtime in the slots of methods that nobody may call. They end the program.
const NO_METHODS: &[&[u8]] = &[b"__cxa_pure_virtual", b"__cxa_deleted_virtual"];

/// True for a special name: of a vtable, of type information, of a thunk, of a guard.
pub(crate) fn is_special(name: &[u8]) -> bool {
    name.starts_with(SPECIAL)
}

/// True for the name of a vtable.
pub(crate) fn is_vtable(name: &[u8]) -> bool {
    name.starts_with(VTABLE)
}

/// The mangled name of a class, from the name of its vtable.
pub(crate) fn class_of_vtable(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(VTABLE)
}

/// The mangled name of a class, from the name of its type information.
pub(crate) fn class_of_type_info(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(TYPE_INFO)
}

/// The bases that type information with this vtable has.
pub(crate) fn bases_of_type_info(vtable: &[u8]) -> Option<Bases> {
    TYPE_INFO_VTABLES.iter().find(|known| known.0 == vtable).map(|known| known.1)
}

/// True for the name of a construction vtable.
pub(crate) fn is_construction_vtable(name: &[u8]) -> bool {
    name.starts_with(CONSTRUCTION_VTABLE)
}

/// True for the name of a virtual function's thunk.
pub(crate) fn is_thunk(name: &[u8]) -> bool {
    THUNKS.iter().any(|prefix| name.starts_with(prefix))
}

/// The name in DWARF of the function that initializes all thread-local variables of a unit (of gcc and clang).
pub(crate) const TLS_INIT_OF_UNIT: &[u8] = b"__tls_init";

/// True for the initialization function of a thread-local variable (of gcc and clang, not in the ABI): all variables of a unit have one such
/// function.
pub(crate) fn is_tls_init(name: &[u8]) -> bool {
    name.starts_with(TLS_INIT)
}

/// True for the function that initializes a thread-local variable on its first use and returns its address (of gcc and clang).
pub(crate) fn is_tls_wrapper(name: &[u8]) -> bool {
    name.starts_with(TLS_WRAPPER)
}

/// True for the mangled name of a member of an unnamed namespace.
pub(crate) fn is_unnamed(name: &[u8]) -> bool {
    // At any place: the namespace may be nested in another, or be in a template argument.
    memchr::memmem::find(name, UNNAMED_NAMESPACE).is_some()
}

/// True for the function of the runtime in the slot of a method that nobody may call.
pub(crate) fn is_no_method(name: &[u8]) -> bool {
    NO_METHODS.contains(&name)
}
