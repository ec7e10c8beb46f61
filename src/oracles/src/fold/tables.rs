//! The file of a generated program that says which function each step of a walk is in.

use std::fmt::Write;

use super::emit::spelled;
use super::graph::Graph;
use super::walk::Step;

/// The file with the walks: tables, objects, and for each step what `who` says.
pub(super) fn walks(graph: &Graph, walks: &[Vec<Step>]) -> String {
    let mut text = String::from("#include \"shared.h\"\n\n");
    for (number, set) in graph.tables.iter().enumerate() {
        for (table, slots) in set.iter().enumerate() {
            let names: Vec<String> = slots.iter().map(|id| spelled(graph, *id)).collect();
            let _ = writeln!(text, "static const Table t{number}_{table} = {{{}}};", names.join(", "));
        }
    }
    for hierarchy in &graph.hierarchies {
        for class in &hierarchy.classes {
            let _ = writeln!(text, "static {0} o{0};", class.name);
        }
    }
    for (number, steps) in walks.iter().enumerate() {
        let _ = writeln!(text, "static const Step w{number}[] = {{");
        let _ = writeln!(text, "    {{\"run@runtime.cpp:0/root!\", nullptr, 0}},");
        for step in steps {
            let _ = writeln!(text, "    {{\"{}\", {}, {}}},", step.who, step.object, step.site);
        }
        text.push_str("};\n");
    }
    text.push_str("\nconst Walk walks[] = {\n");
    for (number, steps) in walks.iter().enumerate() {
        let _ = writeln!(text, "    {{w{number}, {}}},", spelled(graph, steps[0].function));
    }
    let _ = write!(text, "}};\nconst int walk_count = {};\n", walks.len());
    text
}
