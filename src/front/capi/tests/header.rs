//! The header says what the Rust definitions say: layouts and numbers as a C compiler has them, prototypes as
//! the exported functions have them.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use common::{compile, compiler, crate_dir, cxx_compilers, folder, run, text};
use foldsym_capi::types::{CONSTANTS, LAYOUTS};

fn header() -> String {
    std::fs::read_to_string(crate_dir().join("include/foldsym.h")).unwrap()
}

/// A C program that prints every layout and number of the header.
fn printer() -> String {
    let mut c = String::from("#include \"foldsym.h\"\n#include <stdio.h>\nint main(void) {\n");
    for (name, _, _, fields) in LAYOUTS {
        writeln!(c, "printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));").unwrap();
        for (field, ..) in *fields {
            let size = format!("sizeof((({name} *)0)->{field})");
            writeln!(c, "printf(\"{name}.{field} %zu %zu\\n\", offsetof({name}, {field}), {size});").unwrap();
        }
    }
    for (name, value) in CONSTANTS {
        // A size_t does not fit a long long; its bits do, and the sign distinguishes the cases.
        let form = if *value < 0 { ("%lld", "long long") } else { ("%llu", "unsigned long long") };
        writeln!(c, "printf(\"{name} {}\\n\", ({}){name});", form.0, form.1).unwrap();
    }
    c.push_str("return 0; }\n");
    c
}

fn of_rust() -> String {
    let mut out = String::new();
    for (name, size, align, fields) in LAYOUTS {
        writeln!(out, "{name} {size} {align}").unwrap();
        for (field, offset, size) in *fields {
            writeln!(out, "{name}.{field} {offset} {size}").unwrap();
        }
    }
    for (name, value) in CONSTANTS {
        writeln!(out, "{name} {value}").unwrap();
    }
    out
}

#[test]
fn layouts_and_numbers_agree() {
    let Some(cc) = compiler("cc") else { return };
    let folder = folder("header");
    let (source, program) = (folder.join("layouts.c"), folder.join("layouts"));
    std::fs::write(&source, printer()).unwrap();
    compile(&cc, &program, &["-std=c11", text(&source)]);
    assert_eq!(run(&program, &[]), of_rust());
}

#[test]
fn the_header_is_c99_and_cxx() {
    let folder = folder("header");
    let (source, object) = (folder.join("only.c"), folder.join("only.o"));
    let strict = ["-Wshadow", "-Wconversion", "-Wcast-qual", "-c"];
    let only = |header: &str, compiler: &Path, args: &[&str]| {
        let program = format!("#include \"{header}\"\nint main(void) {{ return 0; }}\n");
        std::fs::write(&source, program).unwrap();
        compile(compiler, &object, &[&strict, args, &[text(&source)]].concat());
    };
    let headers = std::fs::read_dir(crate_dir().join("include")).unwrap();
    let headers: Vec<String> =
        headers.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for header in headers.iter().filter(|header| header.ends_with(".h")) {
        // It asks the loader of ELF files.
        if header == "foldsym_process.h" && !cfg!(target_os = "linux") {
            continue;
        }
        if let Some(compiler) = compiler("cc") {
            only(header, &compiler, &["-std=c99", "-D_GNU_SOURCE", "-xc"]);
        }
        for compiler in cxx_compilers() {
            only(header, &compiler, &["-std=c++11", "-xc++"]);
        }
    }
    for compiler in cxx_compilers() {
        for standard in ["-std=c++17", "-std=c++20"] {
            only("foldsym.hpp", &compiler, &[standard, "-xc++"]);
            only("foldsym.hpp", &compiler, &[standard, "-fno-exceptions", "-fno-rtti", "-xc++"]);
        }
    }
}

/// The C text without comments.
fn without_comments(c: &str) -> String {
    let mut out = String::new();
    let mut rest = c;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").unwrap().1;
    }
    out + rest
}

/// Every number, struct and field that the header has, Rust has too.
#[test]
fn nothing_in_the_header_is_unknown() {
    let header = without_comments(&header());
    let known: BTreeSet<&str> = CONSTANTS.iter().map(|(name, _)| *name).collect();
    let defined: BTreeSet<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define FOLDSYM_")?.split_once(' '))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("STATIC_ASSERT"))
        .collect();
    assert_eq!(defined, known.iter().map(|name| &name["FOLDSYM_".len()..]).collect());

    let mut structs = Vec::new();
    for (at, _) in header.match_indices("typedef struct ") {
        let rest = &header[at + "typedef struct ".len()..];
        let Some((name, body)) = rest.split_once(" {\n").filter(|(name, _)| !name.contains(';')) else {
            continue;
        };
        let body = body.split_once('}').unwrap().0;
        let fields: Vec<&str> = body
            .lines()
            .filter_map(|line| line.trim().strip_suffix(';'))
            .map(|line| line.rsplit([' ', '*']).next().unwrap().split('[').next().unwrap())
            .collect();
        structs.push((name, fields));
    }
    let of_rust: Vec<(&str, Vec<&str>)> = LAYOUTS
        .iter()
        .map(|(name, _, _, fields)| (*name, fields.iter().map(|(field, ..)| *field).collect()))
        .collect();
    structs.sort();
    let mut sorted = of_rust;
    sorted.sort();
    assert_eq!(structs, sorted);
}

/// How C spells a Rust type of the interface.
fn c_type(rust: &str) -> String {
    let snake = |name: &str| {
        let mut out = String::from("foldsym");
        for c in name.chars() {
            if c.is_uppercase() {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        }
        out
    };
    if let Some(inner) = rust.strip_prefix("*const ") {
        // A pointer to a mutable pointer does not occur as the target of a constant one.
        return format!("const {} *", c_type(inner));
    }
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(inner)).replace("* *", "**");
    }
    match rust {
        "i32" => "int32_t".into(),
        "u32" => "uint32_t".into(),
        "usize" => "size_t".into(),
        "c_char" => "char".into(),
        "c_void" => "void".into(),
        name => snake(name),
    }
}

/// The prototypes of the exported functions of a Rust source, as C.
fn prototypes(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in source.split("#[unsafe(no_mangle)]").skip(1) {
        let (_, rest) = part.split_once("extern \"C\" fn ").unwrap();
        let (name, rest) = rest.split_once('(').unwrap();
        let (args, rest) = rest.split_once(')').unwrap();
        let returned = match rest.split_once('{').unwrap().0.trim().strip_prefix("-> ") {
            Some(returned) => c_type(returned.trim()),
            None => "void".into(),
        };
        let args: Vec<String> = args
            .split(',')
            .map(str::trim)
            .filter(|arg| !arg.is_empty())
            .map(|arg| {
                let (name, rust) = arg.split_once(": ").unwrap();
                format!("{} {name}", c_type(rust))
            })
            .collect();
        found.push(format!("{returned} {name}({});", args.join(", ")).replace("* ", "*"));
    }
    found
}

#[test]
fn prototypes_agree() {
    let header = without_comments(&header());
    let mut in_header: Vec<String> = header
        .split(['\n'])
        .map(|line| line.trim().to_owned())
        .filter(|line| line.ends_with(");") && line.contains(" foldsym_") || line.contains("*foldsym_"))
        .filter(|line| line.ends_with(");"))
        .collect();
    let mut exported = Vec::new();
    for file in ["tier1.rs", "tier2.rs"] {
        let source = std::fs::read_to_string(crate_dir().join("src/boundary").join(file)).unwrap();
        exported.extend(prototypes(&source));
    }
    in_header.sort();
    exported.sort();
    assert_eq!(in_header, exported);
}
