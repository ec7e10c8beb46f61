//! Makes the types of a unit from its entries, each type once: two DIEs of one type have one number here. A substitution in a mangled
//! name stands for a type that came before, so types must be comparable.

use std::rc::Rc;

use crate::read::types::entries::{Tag, TypeEntries, TypeEntry, TypeTarget};
use crate::util::hash::HashMap;

/// A type that is nested deeper is not made: entries may refer to each other in a circle.
const MAX_DEPTH: usize = 64;

/// The most steps for the types of one function, and of one unit. Later functions have no types.
const MAX_STEPS: u32 = 1 << 14;
const MAX_UNIT_STEPS: u32 = 1 << 26;

/// The number of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartId(u32);

/// `const`, `volatile` and `restrict`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Qualifiers {
    pub(crate) is_restrict: bool,
    pub(crate) is_volatile: bool,
    pub(crate) is_const: bool,
}

/// A type, a scope, or an argument of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TypePart<'f> {
    /// A fundamental type, as it is mangled.
    Builtin(&'static str),
    /// The namespace `std`.
    Std,
    /// A namespace, a class without template arguments, a template, or an enumeration.
    Named {
        scope: Option<PartId>,
        name: &'f [u8],
    },
    Instance {
        template: PartId,
        arguments: Rc<[PartId]>,
    },
    Qualified(Qualifiers, PartId),
    /// A pointer, a reference, as its letter.
    Leading(u8, PartId),
    Array(Option<i64>, PartId),
    Vector(i64, PartId),
    Complex(&'static str),
    Function {
        qualifiers: Qualifiers,
        returned: PartId,
        parameters: Rc<[PartId]>,
        /// What follows the parameters: `v` if there are none, `z` for `...`.
        ending: &'static str,
        ref_qualifier: Option<u8>,
    },
    Member {
        class: PartId,
        of: PartId,
    },
    /// An argument that is a number.
    Number(PartId, i64),
    Pack(Rc<[PartId]>),
}

/// The type of a function.
pub(crate) struct FunctionSignature {
    pub(crate) of: PartId,
    pub(crate) returns_pointer: bool,
}

pub(crate) struct TypeParts<'e, 'f> {
    entries: &'e TypeEntries<'f>,
    parts: Vec<TypePart<'f>>,
    numbers: HashMap<TypePart<'f>, PartId>,
    /// By entry; `None` if it cannot be made.
    known: HashMap<u32, Option<PartId>>,
    /// What is left for this function, and for the unit without it.
    steps: u32,
    unit_steps: u32,
    /// A step or a level was missing.
    is_short: bool,
}

impl<'e, 'f> TypeParts<'e, 'f> {
    pub(crate) fn new(entries: &'e TypeEntries<'f>) -> Self {
        let (numbers, known) = (HashMap::default(), HashMap::default());
        let (parts, unit_steps) = (Vec::new(), MAX_UNIT_STEPS);
        TypeParts { entries, parts, numbers, known, steps: 0, unit_steps, is_short: false }
    }

    pub(crate) fn at(&self, id: PartId) -> &TypePart<'f> {
        &self.parts[id.0 as usize]
    }

    fn add(&mut self, part: TypePart<'f>) -> PartId {
        let next = PartId(self.parts.len() as u32);
        let id = *self.numbers.entry(part.clone()).or_insert(next);
        if id == next {
            self.parts.push(part);
        }
        id
    }

    /// The type of a function; `None` if DWARF does not show it.
    pub(crate) fn function(&mut self, function: u32) -> Option<FunctionSignature> {
        let entries = self.entries;
        if !(entries.is_c || entries.is_cpp) {
            return None;
        }
        self.unit_steps += self.steps;
        self.steps = MAX_STEPS.min(self.unit_steps);
        self.unit_steps -= self.steps;
        self.is_short = false;
        // The parameters are those of the last entry, which is the first declaration. The return type is that of the first entry that has
        // one: where a declaration says `auto`, the definition has the type.
        let (mut last, mut returned) = (function, TypeTarget::None);
        for _ in 0..MAX_DEPTH {
            let entry = entries.at(last);
            if returned == TypeTarget::None {
                returned = entry.of;
            }
            last = match entry.origin {
                TypeTarget::None => break,
                origin => entries.target(origin)?,
            };
        }
        let declaration = entries.at(last);
        // A thunk has a linkage name alone: clang describes none of its parameters. A name is missing also if the chain is too long.
        if declaration.origin != TypeTarget::None || declaration.name.is_empty() {
            return None;
        }
        // A method that gets its object has the object's qualifiers.
        let this = entries.children(last).find(|(_, child)| child.tag == Tag::Parameter);
        let qualifiers = match this.filter(|(_, this)| this.is_artificial) {
            Some((_, this)) => self.qualifiers_of_object(this)?,
            None => Qualifiers::default(),
        };
        let returned = self.of(returned, 0)?;
        let returns_pointer = matches!(self.at(returned), TypePart::Leading(..));
        let of = self.function_type(last, qualifiers, returned, 0)?;
        Some(FunctionSignature { of, returns_pointer })
    }

    /// The qualifiers of the object to which a parameter `this` points.
    fn qualifiers_of_object(&mut self, this: &TypeEntry<'f>) -> Option<Qualifiers> {
        let entries = self.entries;
        let mut at = entries.target(this.of)?;
        // `this` itself is constant.
        while entries.at(at).tag == Tag::Const {
            self.steps = self.steps.checked_sub(1)?;
            at = entries.target(entries.at(at).of)?;
        }
        let pointer = entries.at(at);
        if pointer.tag != Tag::Pointer {
            return None;
        }
        let (mut found, mut target) = (Qualifiers::default(), pointer.of);
        loop {
            self.steps = self.steps.checked_sub(1)?;
            let entry = entries.at(entries.target(target)?);
            match entry.tag {
                Tag::Const => found.is_const = true,
                Tag::Volatile => found.is_volatile = true,
                Tag::Named => return Some(found),
                _ => return None,
            }
            target = entry.of;
        }
    }

    fn function_type(
        &mut self,
        index: u32,
        qualifiers: Qualifiers,
        returned: PartId,
        depth: usize,
    ) -> Option<PartId> {
        let entries = self.entries;
        let (mut parameters, mut ending) = (Vec::new(), "");
        for (_, child) in entries.children(index) {
            self.step()?;
            match child.tag {
                Tag::Parameter if child.is_artificial => {}
                Tag::Parameter => {
                    let of = self.of(child.of, depth + 1)?;
                    // Qualifiers of a parameter itself are no part of the type (C++ [dcl.fct], C 6.7.6.3).
                    parameters.push(match *self.at(of) {
                        TypePart::Qualified(_, of) => of,
                        _ => of,
                    });
                }
                Tag::MoreParameters => ending = "z",
                Tag::Other => return None,
                // The arguments of a template, and types that are declared in the function.
                _ => {}
            }
        }
        if entries.is_c && !entries.at(index).is_prototyped {
            // Parameters without a prototype are promoted, which DWARF does not show (C 6.5.2.2).
            if !parameters.is_empty() {
                return None;
            }
            ending = "";
        } else if parameters.is_empty() && ending.is_empty() {
            ending = "v";
        }
        let ref_qualifier = entries.at(index).ref_qualifier;
        let parameters = parameters.into();
        Some(self.add(TypePart::Function { qualifiers, returned, parameters, ending, ref_qualifier }))
    }

    /// The type to which a reference leads; no reference means `void`.
    fn of(&mut self, target: TypeTarget, depth: usize) -> Option<PartId> {
        match target {
            TypeTarget::None => Some(self.add(TypePart::Builtin("v"))),
            TypeTarget::Here(_) => self.entry(self.entries.target(target)?, depth),
            TypeTarget::Elsewhere => None,
        }
    }

    /// Takes a step; `None` if none is left.
    fn step(&mut self) -> Option<()> {
        self.is_short |= self.steps == 0;
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }

    /// The type of an entry.
    fn entry(&mut self, index: u32, depth: usize) -> Option<PartId> {
        if let Some(known) = self.known.get(&index) {
            return *known;
        }
        if depth > MAX_DEPTH {
            self.is_short = true;
            return None;
        }
        self.step()?;
        let made = self.made(index, depth + 1);
        // What lacked a step or a level here may have it elsewhere.
        if made.is_some() || !self.is_short {
            self.known.insert(index, made);
        }
        made
    }

    fn made(&mut self, index: u32, depth: usize) -> Option<PartId> {
        let entries = self.entries;
        let entry = entries.at(index);
        match entry.tag {
            Tag::Base => {
                let part = match (entry.name, entry.size) {
                    (b"complex" | b"_Complex", 8) => TypePart::Complex("f"),
                    (b"complex" | b"_Complex", 16) => TypePart::Complex("d"),
                    (name, _) => TypePart::Builtin(builtin(name)?),
                };
                Some(self.add(part))
            }
            Tag::Unspecified if entry.name == b"decltype(nullptr)" => Some(self.add(TypePart::Builtin("Dn"))),
            Tag::Alias => self.of(entry.of, depth),
            Tag::Pointer => self.leading(b'P', entry.of, depth),
            Tag::Reference => self.leading(b'R', entry.of, depth),
            Tag::RvalueReference => self.leading(b'O', entry.of, depth),
            Tag::Const | Tag::Volatile | Tag::Restrict => {
                let of = self.of(entry.of, depth)?;
                let one = Qualifiers {
                    is_restrict: entry.tag == Tag::Restrict,
                    is_volatile: entry.tag == Tag::Volatile,
                    is_const: entry.tag == Tag::Const,
                };
                self.qualified(one, of, depth)
            }
            Tag::Array => self.array(index, depth),
            Tag::FunctionType => {
                // In C++ DWARF does not show whether it is `noexcept`, which is a part of the type.
                if !entries.is_c {
                    return None;
                }
                let returned = self.of(entry.of, depth)?;
                self.function_type(index, Qualifiers::default(), returned, depth)
            }
            Tag::MemberPointer => {
                let class = self.of(entry.class, depth)?;
                let of = self.of(entry.of, depth)?;
                Some(self.add(TypePart::Member { class, of }))
            }
            Tag::Named | Tag::Namespace => self.named(index, depth),
            _ => None,
        }
    }

    fn leading(&mut self, letter: u8, of: TypeTarget, depth: usize) -> Option<PartId> {
        let of = self.of(of, depth)?;
        Some(self.add(TypePart::Leading(letter, of)))
    }

    /// The type with further qualifiers. Those of an array are of its elements.
    fn qualified(&mut self, more: Qualifiers, of: PartId, depth: usize) -> Option<PartId> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match self.at(of).clone() {
            TypePart::Qualified(known, of) => {
                let all = Qualifiers {
                    is_restrict: known.is_restrict || more.is_restrict,
                    is_volatile: known.is_volatile || more.is_volatile,
                    is_const: known.is_const || more.is_const,
                };
                self.add(TypePart::Qualified(all, of))
            }
            TypePart::Array(count, element) => {
                let element = self.qualified(more, element, depth + 1)?;
                self.add(TypePart::Array(count, element))
            }
            TypePart::Leading(b'R' | b'O', _) | TypePart::Function { .. } => of,
            _ => self.add(TypePart::Qualified(more, of)),
        })
    }

    fn array(&mut self, index: u32, depth: usize) -> Option<PartId> {
        let entries = self.entries;
        let mut of = self.of(entries.at(index).of, depth)?;
        let mut counts = Vec::new();
        for (_, child) in entries.children(index) {
            self.step()?;
            match child.tag {
                Tag::Bounds => counts.push(child.number),
                _ => return None,
            }
        }
        if entries.at(index).is_vector {
            let [Some(count)] = counts[..] else { return None };
            return Some(self.add(TypePart::Vector(count, of)));
        }
        for count in counts.into_iter().rev() {
            of = self.add(TypePart::Array(count, of));
        }
        Some(of)
    }

    /// A class, an enumeration or a namespace.
    fn named(&mut self, index: u32, depth: usize) -> Option<PartId> {
        let entries = self.entries;
        let (entry, name) = (entries.at(index), entries.name(index));
        // Without a name, or in an unnamed namespace, it is local to its unit, and LLVM gives it no type.
        if name.is_empty() {
            return None;
        }
        let parent = entry.parent?;
        let scope = match entries.at(parent).tag {
            Tag::Root => None,
            Tag::Namespace | Tag::Named => Some(self.entry(parent, depth)?),
            // Local to a function.
            _ => return None,
        };
        if scope.is_none() && name == b"std" && entry.tag == Tag::Namespace {
            return Some(self.add(TypePart::Std));
        }
        // In C, types that are declared in a struct are not in its scope.
        let scope = scope.filter(|_| entries.is_cpp);
        let simple = match name.iter().position(|byte| *byte == b'<') {
            Some(end) if entry.tag == Tag::Named => &name[..end],
            _ => name,
        };
        let template = self.add(TypePart::Named { scope, name: simple });
        let arguments = self.arguments(index, depth)?;
        match (arguments.is_empty(), simple.len() == name.len()) {
            (true, true) => Some(template),
            // It has arguments, which are not described.
            (true, false) => None,
            (false, _) => Some(self.add(TypePart::Instance { template, arguments: arguments.into() })),
        }
    }

    /// The arguments of an instance of a template.
    fn arguments(&mut self, index: u32, depth: usize) -> Option<Vec<PartId>> {
        let entries = self.entries;
        let mut found = Vec::new();
        for (at, child) in entries.children(index) {
            self.step()?;
            let argument = match child.tag {
                Tag::TemplateType => self.of(child.of, depth)?,
                Tag::TemplateValue => {
                    let of = self.of(child.of, depth)?;
                    // An argument that is a pointer or an object is no number.
                    if !matches!(self.at(of), TypePart::Builtin(_) | TypePart::Named { .. }) {
                        return None;
                    }
                    self.add(TypePart::Number(of, child.number?))
                }
                Tag::TemplatePack => {
                    if depth > MAX_DEPTH {
                        return None;
                    }
                    let pack = self.arguments(at, depth + 1)?.into();
                    self.add(TypePart::Pack(pack))
                }
                Tag::Other => return None,
                // Members.
                _ => continue,
            };
            found.push(argument);
        }
        Some(found)
    }
}

/// The letters of a fundamental type with the name that clang gives it (Itanium C++ ABI 5.1.5.2).
fn builtin(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"bool" | b"_Bool" => "b",
        b"char" => "c",
        b"signed char" => "a",
        b"unsigned char" => "h",
        b"short" => "s",
        b"unsigned short" => "t",
        b"int" => "i",
        b"unsigned int" => "j",
        b"long" => "l",
        b"unsigned long" => "m",
        b"long long" => "x",
        b"unsigned long long" => "y",
        b"__int128" => "n",
        b"unsigned __int128" => "o",
        b"float" => "f",
        b"double" => "d",
        b"long double" => "e",
        b"__float128" => "g",
        b"wchar_t" => "w",
        b"char8_t" => "Du",
        b"char16_t" => "Ds",
        b"char32_t" => "Di",
        b"_Float16" => "DF16_",
        b"__bf16" => "DF16b",
        _ => return None,
    })
}
