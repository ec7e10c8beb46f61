//! Turns what `cpp_demangle` writes of a C++ name into the spelling of LLVM's demangler, while it is written.
//!
//! `cpp_demangle` follows libiberty's spelling (`> >`, `(unsigned int)16`, `{lambda(int)#1}`), and puts some parts of a name in the wrong
//! place. It passes each piece of text when it writes it, and reports where a nested name, a list of template arguments or a template
//! parameter begins and ends. Each rule below handles one such piece or end. The text that a rule has to move or to repeat is still at the
//! end of the output, so no rule reads the name twice.

use std::fmt;

use cpp_demangle::{DemangleNodeType as Node, DemangleWrite};

use crate::pack::{Pattern, is_modifier};
use crate::words::{ABBREVIATED, SUFFIXES};

/// Names with a longer spelling stay mangled: a few bytes of substitutions can expand to gigabytes.
pub(crate) const MAX_OUTPUT: usize = 64 << 10;

/// Names of more pieces of text stay mangled. The commas of lists that have nothing but empty lists are not written, so the output of such
/// a name stays short.
const MAX_PIECES: usize = 4 * MAX_OUTPUT;

/// No place in a text.
const NOWHERE: usize = usize::MAX;

/// The first bytes of pieces that no rule is about: most names of functions and types, and most signs.
const IS_PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut at = 0;
    let ruled = b", ():{}0123456789abdos";
    while at < ruled.len() {
        plain[ruled[at] as usize] = false;
        at += 1;
    }
    plain[b' ' as usize] = true;
    plain
};

/// A part of a name that is being written.
struct Frame {
    kind: Node,
    /// Where its text begins.
    start: usize,
    /// Where the text of the last part inside it ends.
    inside: usize,
    /// How many commas and brackets were open before it.
    commas: usize,
    brackets: usize,
}

/// An open bracket.
struct Bracket {
    at: usize,
    /// How many parts were being written when it was opened.
    frames: usize,
    /// The bracket contains the parameters of a constant function type.
    is_const: bool,
    follows: Follows,
}

/// The context before an open bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// A nested name that may be of the type that a function type returns.
    Type,
    /// Another nested name.
    Name,
    Other,
}

/// A template parameter pack: the text of all its types that was written so far.
struct Pack {
    start: usize,
    end: usize,
    /// Its first comma in the list of commas.
    commas: usize,
}

/// Writes a name to the end of a text.
pub(crate) struct Speller<'o> {
    out: &'o mut String,
    /// Where the name begins in the text.
    start: usize,
    frames: Vec<Frame>,
    brackets: Vec<Bracket>,
    /// Where commas were written between the types of template parameters that are being written.
    commas: Vec<usize>,
    /// Where lambdas and unnamed types begin whose number is not written yet.
    unnamed: Vec<usize>,
    /// Text that belongs after a nested name: the number of that name's frame, and the text.
    moved: Vec<(usize, String)>,
    /// A comma that is written once something follows it.
    comma: bool,
    /// Where the last list began.
    list: usize,
    pack: Option<Pack>,
    /// Where the parameters of what may be a function type begin.
    function_type: Option<usize>,
    /// Where the parameters begin that were just written after a nested name.
    parameters: Option<usize>,
    /// Where the nested name begins that ended just now; [`NOWHERE`] where something else did.
    ended: usize,
    special: Special,
    /// The next piece may still change the text at the end.
    waits: bool,
    /// The next piece is the number of a lambda or of an unnamed type.
    numbered: bool,
    /// The next piece may be the number of a lambda's parameter.
    auto: bool,
    /// How many pieces came, written or not.
    pieces: usize,
    mangled: &'o [u8],
    /// The pattern of the name's packs, once one was found.
    pattern: Option<Pattern>,
}

/// Which part of a table's or a thunk's name is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// The name is of neither.
    No,
    /// An offset of a thunk, which LLVM leaves out.
    Offset,
    /// The comma after an offset.
    Comma,
    /// The owner of the table or the thunk.
    Of,
}

impl<'o> Speller<'o> {
    pub(crate) fn new(out: &'o mut String, mangled: &'o [u8]) -> Self {
        let start = out.len();
        Self {
            out,
            start,
            frames: Vec::with_capacity(16),
            brackets: Vec::new(),
            commas: Vec::new(),
            unnamed: Vec::new(),
            moved: Vec::new(),
            comma: false,
            list: NOWHERE,
            pack: None,
            function_type: None,
            parameters: None,
            ended: NOWHERE,
            special: Special::No,
            waits: false,
            numbered: false,
            auto: false,
            pieces: 0,
            mangled,
            pattern: None,
        }
    }

    /// Takes the text from here on. Rules move text, so that a place noted before may be past the end of a hostile name's, or
    /// within a letter: then there is nothing to take.
    fn cut(&mut self, at: usize) -> String {
        if self.out.is_char_boundary(at) { self.out.split_off(at) } else { String::new() }
    }

    /// Ends the name.
    ///
    /// # Errors
    /// It is too long.
    pub(crate) fn finish(mut self) -> fmt::Result {
        self.end_function_type();
        self.end_pack();
        self.put("")
    }

    #[inline]
    fn put(&mut self, text: &str) -> fmt::Result {
        if self.out.len() - self.start + text.len() > MAX_OUTPUT {
            return Err(fmt::Error);
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Writes the pending comma, unless it is the first thing in its list: empty packs leave extra commas.
    #[inline]
    fn put_comma(&mut self) -> fmt::Result {
        if self.comma { self.put_comma_now() } else { Ok(()) }
    }

    fn put_comma_now(&mut self) -> fmt::Result {
        self.comma = false;
        let at = self.out.len();
        if at == self.list {
            return Ok(());
        }
        self.put(", ")?;
        // It separates parts that began after it from the parts before.
        let began = |frame: &&mut Frame| frame.start == at;
        self.frames.iter_mut().rev().take_while(began).for_each(|frame| frame.start = at + 2);
        let outer = self.frames.iter().rev().find(|frame| frame.start <= at);
        if outer.is_some_and(|frame| {
            matches!(frame.kind, Node::TemplateParam) && frame.brackets == self.brackets.len()
        }) {
            self.commas.push(at);
        }
        Ok(())
    }

    /// The names of tables and thunks: `vtable for T` in place of `{vtable(T)}`.
    fn special(&mut self, piece: &str) -> Option<fmt::Result> {
        let (text, next) = match (self.special, piece) {
            (Special::No, "{vtable(") => ("vtable for ", Special::Of),
            (Special::No, "{vtt(") => ("VTT for ", Special::Of),
            (Special::No, "{virtual override thunk(") => ("non-virtual thunk to ", Special::Offset),
            (Special::Of, ")}") => ("", Special::No),
            (Special::Of, "{offset(" | "{virtual offset(") => {
                self.out.truncate(self.start);
                ("covariant return thunk to ", Special::Offset)
            }
            (Special::Offset, "{virtual offset(") => {
                self.out.truncate(self.start);
                ("virtual thunk to ", Special::Offset)
            }
            (Special::Offset, ")}") => ("", Special::Comma),
            (Special::Offset, _) => ("", Special::Offset),
            (Special::Comma, _) => ("", Special::Of),
            _ => return None,
        };
        self.special = next;
        self.waits = true;
        Some(self.put(text))
    }

    /// `'lambda0'(int)` in place of `{lambda(int)#2}`, and `'unnamed0'` in place of `{unnamed type#2}`: the first has no
    /// number, the second has 0.
    fn unnamed(&mut self, piece: &str) -> fmt::Result {
        match piece {
            "{lambda(" => {
                self.unnamed.push(self.out.len());
                self.put("'lambda'(")?;
                self.open(Follows::Other)
            }
            "{unnamed type#" => {
                self.unnamed.push(self.out.len());
                self.numbered = true;
                self.waits = true;
                self.put("'unnamed'")
            }
            ")#" => {
                self.brackets.pop();
                self.numbered = true;
                self.waits = true;
                self.put(")")
            }
            "}" if self.unnamed.pop().is_some() => Ok(()),
            _ => self.put(piece),
        }
    }

    fn unnamed_number(&mut self, number: &str) -> fmt::Result {
        let number = number.parse::<u32>().ok().and_then(|number| number.checked_sub(2));
        if let (Some(number), Some(at)) = (number, self.unnamed.last()) {
            let quote = self.out.get(at + 1..).and_then(|text| text.find('\''));
            self.out.insert_str(quote.map_or(self.out.len(), |quote| at + 1 + quote), &number.to_string());
        }
        Ok(())
    }

    /// A bracket was opened: it is the last byte of the text.
    fn open(&mut self, follows: Follows) -> fmt::Result {
        self.brackets.push(Bracket {
            at: self.out.len() - 1,
            frames: self.frames.len(),
            is_const: false,
            follows,
        });
        self.list = self.out.len();
        Ok(())
    }

    /// Called before a bracket is closed: the text after it may change its contents. Returns the text that follows the bracket.
    fn close(&mut self) -> &'static str {
        let Some(bracket) = self.brackets.pop() else { return "" };
        if bracket.follows != Follows::Other {
            self.parameters = Some(bracket.at);
            self.function_type = (bracket.follows == Follows::Type).then_some(bracket.at);
            self.waits = true;
        }
        if bracket.is_const { " const" } else { "" }
    }

    /// A parameter has ended. `cpp_demangle` writes the qualifier of a function type (`void (A) const`) after the first
    /// parameter that is a nested name; a parameter itself is never constant in a mangled name.
    fn take_qualifier(&mut self) {
        let (Some(frame), Some(bracket)) = (self.frames.last(), self.brackets.last_mut()) else { return };
        if bracket.frames == self.frames.len() && self.out.get(frame.inside..) == Some(" const") {
            self.out.truncate(frame.inside);
            bracket.is_const = true;
        }
    }

    /// A bracket after a nested name begins the parameters of a function type, unless the name is the function's itself,
    /// that of a function in which something else is local, or of one whose address is an argument of a template.
    fn before_bracket(&self) -> Follows {
        let Some(before) = self.out.get(..self.ended) else { return Follows::Other };
        let nested = !self.frames.is_empty() || !self.brackets.is_empty();
        if nested && !before.ends_with(['&', '(']) { Follows::Type } else { Follows::Name }
    }

    /// LLVM writes a space after the type that a function type returns, libiberty not after all.
    fn end_function_type(&mut self) {
        if let Some(at) = self.function_type.take() {
            let after = self.cut(at);
            self.out.push(' ');
            self.out.push_str(&after);
        }
    }

    /// For a pack, `cpp_demangle` writes what the pattern adds to a type (`&&` of `Args&&...`) only after one of the types, or piece by
    /// piece after several. Here each of the types gets it.
    #[inline]
    fn end_pack(&mut self) {
        if let Some(pack) = self.pack.take() {
            self.put_pack(&pack);
        }
    }

    #[cold]
    fn put_pack(&mut self, pack: &Pack) {
        if pack.start == pack.end {
            self.cut(pack.end);
            return;
        }
        let pattern = *self.pattern.get_or_insert_with(|| Pattern::of(self.mangled));
        if pattern != Pattern::Other {
            let types = self.cut(pack.start);
            let commas = self.commas.get(pack.commas..).unwrap_or_default();
            let mut from = 0;
            for comma in commas.iter().map(|at| at.wrapping_sub(pack.start)).chain([types.len()]) {
                let Some(one) = types.get(from..comma) else { continue };
                pattern.put(one, self.out);
                if comma < types.len() {
                    self.out.push_str(", ");
                }
                from = comma + 2;
            }
        }
        self.commas.truncate(pack.commas);
    }

    /// `cpp_demangle` writes `A const::B` for `A::B const`, where A was named before: what belongs after the whole name
    /// is kept until that has ended.
    fn move_qualifiers(&mut self) {
        let number = self.frames.len();
        let Some(frame) = self.frames.last() else { return };
        if matches!(frame.kind, Node::NestedName | Node::Prefix | Node::TemplatePrefix)
            && self.out.get(frame.inside..).is_some_and(is_modifier)
        {
            let text = self.out.split_off(frame.inside);
            self.moved.push((number, text));
        }
    }

    /// `(A::* (int))(char)` in place of `(A(int)::*)(char)`, of a function that returns a pointer to a member.
    fn member_pointer(&mut self, at: usize) -> fmt::Result {
        let parameters = self.cut(at);
        self.put("::* ")?;
        self.put(&parameters)
    }

    /// Spells the class of a constructor or destructor in full. `name` is what `cpp_demangle` calls it, LLVM calls it as
    /// the template.
    fn structor(&mut self, name: &str) -> fmt::Result {
        let own = if self.out.ends_with('~') { "::~" } else { "::" };
        let class = self.out[self.start..].strip_suffix(own);
        let of = |class: &str| ABBREVIATED.iter().find(|(_, short, _)| class.ends_with(short));
        let Some((class, (_, short, whole))) = class.and_then(|class| Some((class, of(class)?))) else {
            return self.put(name);
        };
        let at = self.start + class.len() - short.len();
        self.out.truncate(at);
        self.put(whole)?;
        self.put(own)?;
        // All classes of the list begin with `std::`, which has 5 bytes.
        self.put(if name.starts_with("basic_") { name } else { whole[5..].split('<').next().unwrap_or(name) })
    }

    /// Writes a piece while something before it waits for what follows.
    fn piece_after(&mut self, piece: &str) -> fmt::Result {
        let done = self.continue_with(piece);
        self.waits = self.waits();
        done
    }

    fn continue_with(&mut self, piece: &str) -> fmt::Result {
        if matches!(self.special, Special::Offset | Special::Comma) {
            return self.special(piece).unwrap_or(Ok(()));
        }
        self.end_what_ends(piece);
        let parameters = self.parameters.take();
        if piece == "::*"
            && let Some(at) = parameters
        {
            return self.member_pointer(at);
        }
        if self.auto || self.numbered {
            let number = piece.as_bytes().first().is_some_and(u8::is_ascii_digit);
            let numbered = std::mem::take(&mut self.numbered) && !std::mem::take(&mut self.auto);
            if number {
                return if numbered { self.unnamed_number(piece) } else { Ok(()) };
            }
        }
        self.piece(piece)
    }

    fn piece(&mut self, piece: &str) -> fmt::Result {
        match piece.as_bytes() {
            b", " => {
                self.comma = true;
                self.take_qualifier();
                return Ok(());
            }
            b")" => {
                self.comma = false;
                self.take_qualifier();
                let qualifier = self.close();
                self.put(")")?;
                return self.put(qualifier);
            }
            b"(" => {
                let follows = self.before_bracket();
                self.put_comma()?;
                self.put("(")?;
                return self.open(follows);
            }
            b"::" => self.move_qualifiers(),
            b"::operator \"\"" => return self.literal_operator(),
            [b'0'..=b'9', ..] => {
                self.put_comma()?;
                return self.number(piece);
            }
            [b'a' | b'b' | b'd' | b'o' | b's', ..] => {
                self.put_comma()?;
                return self.word(piece);
            }
            [b'{' | b'}', ..] | b")#" | b")}" => {
                if let Some(done) = self.special(piece) {
                    return done;
                }
                self.put_comma()?;
                return self.unnamed(piece);
            }
            _ => {}
        }
        self.put_comma()?;
        self.put(piece)
    }

    /// `operator"" _km` in place of `operator_km::operator ""`.
    fn literal_operator(&mut self) -> fmt::Result {
        let name = self.out[self.start..].trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let name = self.cut(self.start + name);
        self.put(&format!("operator\"\" {}", name.strip_prefix("operator").unwrap_or(&name)))
    }

    /// A piece that may be a word with a rule of its own.
    fn word(&mut self, piece: &str) -> fmt::Result {
        match piece {
            // The number of the parameter follows.
            "auto:" => {
                self.auto = true;
                self.waits = true;
                self.put("auto")
            }
            "decltype (" => self.put("decltype("),
            "string" | "ostream" | "basic_istream" | "basic_iostream" => self.structor(piece),
            _ => {
                let abbreviated = ABBREVIATED.iter().find(|(long, ..)| *long == piece);
                self.put(abbreviated.map_or(piece, |(_, short, _)| short))
            }
        }
    }

    fn waits(&self) -> bool {
        self.pack.is_some()
            || self.function_type.is_some()
            || self.parameters.is_some()
            || self.numbered
            || self.auto
            || matches!(self.special, Special::Offset | Special::Comma)
    }

    /// Ends a pack or a function type, unless the piece is still a part of it.
    fn end_what_ends(&mut self, piece: &str) {
        let modifies = matches!(piece, "&" | "&&" | "*" | " " | "const" | "volatile" | "restrict");
        if !modifies {
            self.end_pack();
        }
        if matches!(piece, "::" | "::*") {
            self.function_type = None;
        } else if !modifies && piece != "noexcept" {
            self.end_function_type();
        }
    }

    /// `16u` in place of `(unsigned int)16`.
    fn number(&mut self, digits: &str) -> fmt::Result {
        let text = &self.out[self.start..];
        let (before, sign) = text.strip_suffix('-').map_or((text, ""), |before| (before, "-"));
        let found = SUFFIXES.iter().find(|(cast, _)| before.ends_with(cast));
        let Some((cast, suffix)) = found else { return self.put(digits) };
        let at = self.start + before.len() - cast.len();
        self.out.truncate(at);
        self.put(sign)?;
        self.put(digits)?;
        self.put(suffix)
    }
}

impl DemangleWrite for Speller<'_> {
    fn push_demangle_node(&mut self, kind: Node) {
        self.end_pack();
        self.ended = NOWHERE;
        if matches!(kind, Node::TemplateArgs) {
            // libiberty's space in `operator< <int>`.
            if self.out[self.start..].ends_with("< <") {
                self.out.truncate(self.out.len() - 2);
                self.out.push('<');
            }
            self.list = self.out.len();
        }
        self.frames.push(Frame {
            kind,
            start: self.out.len(),
            inside: NOWHERE,
            commas: self.commas.len(),
            brackets: self.brackets.len(),
        });
    }

    #[inline]
    fn write_string(&mut self, piece: &str) -> fmt::Result {
        self.pieces += 1;
        if self.pieces > MAX_PIECES {
            return Err(fmt::Error);
        }
        let plain = piece.as_bytes().first().is_none_or(|first| IS_PLAIN[usize::from(*first)]);
        let done = if plain & !self.waits & !self.comma {
            self.put(piece)
        } else if self.waits {
            self.piece_after(piece)
        } else {
            self.piece(piece)
        };
        self.ended = NOWHERE;
        done
    }

    fn pop_demangle_node(&mut self) {
        let number = self.frames.len();
        let Some(frame) = self.frames.pop() else { return };
        match frame.kind {
            Node::TemplateArgs => {
                self.end_pack();
                self.end_function_type();
                self.comma = false;
                // `cpp_demangle` has already written libiberty's space of `> >`.
                if self.out.ends_with(' ') {
                    self.out.pop();
                }
            }
            Node::TemplateParam => {
                let whole = self
                    .pack
                    .as_ref()
                    .is_some_and(|pack| pack.start == frame.start && pack.end == self.out.len());
                if !whole {
                    self.end_pack();
                    if self.commas.len() > frame.commas || self.out.len() == frame.start {
                        self.waits = true;
                        self.pack =
                            Some(Pack { start: frame.start, end: self.out.len(), commas: frame.commas });
                    }
                }
            }
            _ => {}
        }
        if let Some((_, text)) = self.moved.pop_if(|(of, _)| *of == number) {
            if matches!(frame.kind, Node::NestedName) || self.frames.is_empty() {
                self.out.push_str(&text);
            } else {
                self.moved.push((number - 1, text));
            }
        }
        if let Some(outer) = self.frames.last_mut() {
            // A pointer to `T::A` is not one to `T`.
            let modified = matches!(frame.kind, Node::TemplateParam | Node::Prefix | Node::TemplatePrefix)
                && self.out.get(frame.inside..).is_some_and(is_modifier);
            outer.inside = if modified { frame.inside } else { self.out.len() };
        }
        self.ended = if matches!(frame.kind, Node::NestedName) { frame.start } else { NOWHERE };
    }
}
