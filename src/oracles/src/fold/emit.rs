//! Writes a call graph as C++ files, and records the place of each call in them.

use std::collections::BTreeMap;

use super::graph::{Call, FILES, FunctionId, Graph, HEADER, Written};

/// The place of a site, as the answer for a frame there must have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    /// The linkage name of the function that is inlined there, and the line in it.
    pub(super) inlined: Option<(String, usize)>,
}

/// The files of a program but for its walks.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// `(name, text)`: the header last.
    pub(super) files: Vec<(String, String)>,
    pub(super) places: BTreeMap<(FunctionId, usize), Place>,
}

pub(super) fn file_name(file: usize) -> String {
    if file == HEADER { "shared.h".to_owned() } else { format!("f{file}.cpp") }
}

pub(super) fn sources(graph: &Graph) -> Sources {
    let mut sources = Sources::default();
    for file in 0..FILES {
        let mut text = Text::new();
        text.line("#include \"shared.h\"");
        text.line("");
        let in_file = (0..graph.functions.len()).filter(|id| graph.functions[*id].file == file);
        for id in in_file.clone().filter(|id| graph.family(*id).kind == Written::Local) {
            text.line(&format!("static int {}(const Step *, int);", graph.functions[id].name));
        }
        for id in in_file {
            definition(&mut text, graph, id, &mut sources.places);
        }
        sources.files.push((file_name(file), text.text));
    }
    let header = header(graph, &mut sources.places);
    sources.files.push((file_name(HEADER), header));
    sources
}

/// Text that knows its last line's number.
struct Text {
    text: String,
    lines: usize,
}

impl Text {
    fn new() -> Text {
        Text { text: String::new(), lines: 0 }
    }

    fn line(&mut self, line: &str) -> usize {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
        self.lines
    }
}

fn header(graph: &Graph, places: &mut BTreeMap<(FunctionId, usize), Place>) -> String {
    let mut text = Text::new();
    text.line("#pragma once");
    text.line("#include \"runtime.h\"");
    text.line("");
    for (id, function) in graph.functions.iter().enumerate() {
        let name = &function.name;
        match graph.family(id).kind {
            Written::Plain => text.line(&format!("int {name}(const Step *, int);")),
            Written::Comdat => text.line(&format!("inline NOINLINE int {name}(const Step *, int);")),
            Written::NoReturn => text.line(&format!("[[noreturn]] void {name}(const Step *, int);")),
            Written::Template if function.member == 0 => {
                text.line(&format!("template <int> NOINLINE int {name}(const Step *, int);"))
            }
            Written::Constructor => text.line(&format!(
                "struct {} {{ int v; NOINLINE {}(const Step *, int); }};",
                function.class, function.class
            )),
            Written::Template | Written::Method | Written::Local => continue,
        };
    }
    for (number, hierarchy) in graph.hierarchies.iter().enumerate() {
        for (base, methods) in [("Base", ["m0", "m1"]), ("Side", ["q0", "q1"])] {
            text.line(&format!("struct {base}{number} {{"));
            for method in methods {
                text.line(&format!("    virtual int {method}(const Step *, int) = 0;"));
            }
            text.line("};");
        }
        for class in &hierarchy.classes {
            let bases = match class.parent {
                Some(parent) => hierarchy.classes[parent].name.clone(),
                None => format!("Base{number}, Side{number}"),
            };
            text.line(&format!("struct {} : {bases} {{", class.name));
            for method in class.methods.iter().flatten() {
                let name = &graph.functions[*method].name;
                text.line(&format!("    NOINLINE int {name}(const Step *, int) override;"));
            }
            text.line("};");
        }
    }
    text.line("");
    for id in (0..graph.functions.len()).filter(|id| graph.functions[*id].file == HEADER) {
        definition(&mut text, graph, id, places);
    }
    text.text
}

/// How a callee is spelled.
pub(super) fn spelled(graph: &Graph, id: FunctionId) -> String {
    let function = &graph.functions[id];
    match graph.family(id).kind {
        Written::Template => format!("{}<{}>", function.name, function.member),
        Written::Constructor => function.class.clone(),
        _ => function.name.clone(),
    }
}

fn definition(
    text: &mut Text,
    graph: &Graph,
    id: FunctionId,
    places: &mut BTreeMap<(FunctionId, usize), Place>,
) {
    let (function, family) = (&graph.functions[id], graph.family(id));
    // The instances of a template are one piece of text.
    if family.kind == Written::Template && function.member > 0 {
        for site in 0..family.sites.len() {
            if let Some(place) = places.get(&(family.members[0], site)).cloned() {
                places.insert((id, site), place);
            }
        }
        return;
    }
    let mut helpers = BTreeMap::new();
    for (number, site) in family.sites.iter().enumerate().filter(|(_, site)| site.call == Call::Inlined) {
        let name = format!("in{id}_{number}");
        text.line(&format!("INLINED int {name}(const Step *s, int x)"));
        text.line("{");
        text.line(&format!("    x = x * 5 + {number};"));
        let line =
            text.line(&format!("    return {}(s, x) + 1;", spelled(graph, site.targets[function.member])));
        text.line("}");
        text.line("");
        helpers.insert(number, (format!("_ZL{}{name}PK4Stepi", name.len()), line));
    }
    let name = &function.name;
    text.line(&match family.kind {
        Written::Plain => format!("NOINLINE int {name}(const Step *s, int x)"),
        Written::Local => format!("static NOINLINE int {name}(const Step *s, int x)"),
        Written::Comdat => format!("inline NOINLINE int {name}(const Step *s, int x)"),
        Written::Template => format!("template <int> NOINLINE int {name}(const Step *s, int x)"),
        // Every other one is cold: compilers move the calls of those out of line.
        Written::NoReturn if function.family % 2 == 0 => {
            format!("NOINLINE COLD void {name}(const Step *s, int x)")
        }
        Written::NoReturn => format!("NOINLINE void {name}(const Step *s, int x)"),
        Written::Method => format!("int {}::{name}(const Step *s, int x)", function.class),
        Written::Constructor => format!("{0}::{0}(const Step *s, int x)", function.class),
    });
    text.line("{");
    text.line(&format!("    x = x * 7 + {};", 1000 + function.family * 37));
    for (number, site) in family.sites.iter().enumerate() {
        text.line(&format!("    if (s->site == {number})"));
        let line = text.line(&format!("        {}", statement(graph, id, number)));
        let inlined = helpers.get(&number).filter(|_| site.call == Call::Inlined).cloned();
        places.insert((id, number), Place { line, inlined });
    }
    match family.kind {
        Written::NoReturn => {
            text.line("    sink = x;");
            text.line("    leave();")
        }
        Written::Constructor => text.line("    v = x + 3;"),
        _ => text.line("    return x + 3;"),
    };
    text.line("}");
    text.line("");
}

fn statement(graph: &Graph, id: FunctionId, number: usize) -> String {
    let (function, family) = (&graph.functions[id], graph.family(id));
    let site = &family.sites[number];
    let callee = site.targets.get(function.member).map(|target| spelled(graph, *target)).unwrap_or_default();
    let vptr = if family.kind == Written::Method { "*(void *const *)this" } else { "nullptr" };
    let slot = ["a", "b", "c"][site.slot.min(2)];
    match site.call {
        Call::Direct => format!("x += {callee}(s + 1, x);"),
        Call::Inlined => format!("x += in{id}_{number}(s + 1, x);"),
        Call::Tail => format!("TAIL return {callee}(s + 1, x);"),
        Call::TailTable => format!("TAIL return ((const Table *)s->object)->{slot}(s + 1, x);"),
        Call::NoReturn => format!("{callee}(s + 1, x);"),
        Call::Construct => format!("{{ {callee} made(s + 1, x); x += made.v; }}"),
        Call::Virtual => format!("x += ((Base{} *)s->object)->m{}(s + 1, x);", site.through, site.slot),
        Call::Side => format!("x += ((Side{} *)s->object)->q{}(s + 1, x);", site.through, site.slot - 2),
        Call::Table => format!("x += ((const Table *)s->object)->{slot}(s + 1, x);"),
        Call::Probe => "x += probe(s);".to_owned(),
        Call::Trap => format!("TRAP({vptr});"),
    }
}
