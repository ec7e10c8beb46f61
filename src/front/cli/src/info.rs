//! `foldsym info`: prints what a `.fsym` holds, where its bytes go, and how it was made.

use std::io::Read;

use foldsym_format::header::VERSION;
use foldsym_lookup::{GroupId, Header, SectionId, SymbolFile, features, flags};
use serde_json::{Map, Value, json};

use crate::args::Info;
use crate::failure::{Failure, exit};
use crate::mapped::Mapped;
use crate::open::damaged;
use crate::output::Output;
use crate::text::push_escaped;

/// A conversion record is a page of text; more is not read.
const MAX_RECORD: u64 = 16 << 20;

/// Prints the facts of a file.
pub(crate) fn run(args: &Info) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::open::open(&mapped)?;
    let facts = facts(&file, &mapped)?;
    let mut out = Output::new();
    if args.json {
        let text = serde_json::to_vec(&facts).map_err(|error| Failure { message: error.to_string(), code: exit::BAD_INPUT })?;
        out.text.extend_from_slice(&text);
        out.text.push(b'\n');
    } else {
        push_escaped(&mut out.text, args.file.as_os_str().as_encoded_bytes());
        out.text.push(b'\n');
        print(&mut out.text, &facts);
    }
    out.flush()?;
    Ok(0)
}

fn facts(file: &SymbolFile<'_>, mapped: &Mapped) -> Result<Value, Failure> {
    let header = file.header();
    let mut folded = 0u64;
    for group in 0..file.group_count() {
        let group = file.group(GroupId(group)).map_err(|error| damaged(mapped, error))?;
        folded += u64::from(group.len());
    }
    let sections: Vec<Value> = file
        .sections()
        .map(|section| json!({"Id": section.id.0, "Name": section.name, "Offset": section.offset, "Size": section.len}))
        .collect();
    let build_id: String = file.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!({
        "Version": VERSION,
        "Architecture": architecture(header),
        "Machine": header.machine,
        "AddressSize": header.address_size,
        "BigEndian": header.flags & flags::BIG_ENDIAN != 0,
        "Relocatable": header.flags & flags::RELOCATABLE != 0,
        "MachO": header.flags & flags::MACH_O != 0,
        "BuildId": if build_id.is_empty() { Value::Null } else { Value::String(build_id) },
        "ImageBase": format!("{:#x}", header.image_base),
        "Columns": header.features & features::COLUMNS != 0,
        "Counts": {
            "Pieces": file.piece_count(),
            "Functions": file.function_count(),
            "Origins": file.origin_count(),
            "Edges": file.edge_count(),
            "Groups": file.group_count(),
            "FoldedFunctions": folded,
            "LargestGroup": header.max_group,
            "DeepestInline": header.max_depth,
            "Names": file.names().len(),
            "Files": file.files().len(),
            "ProgramSections": file.program_sections().count(),
        },
        "Size": header.file_len,
        "Sections": sections,
        "Conversion": record(file, mapped)?,
    }))
}

/// How the file was made; null where that was not kept.
fn record(file: &SymbolFile<'_>, mapped: &Mapped) -> Result<Value, Failure> {
    let Some(bytes) = file.section_bytes(SectionId::RECORD) else { return Ok(Value::Null) };
    let wrong = |what: &str| Failure::input(mapped.path(), format!("damaged: section RECORD: {what}"));
    let mut text = Vec::new();
    let frame = zstd::stream::read::Decoder::new(bytes).map_err(|_| wrong("not a zstd frame"))?;
    frame.take(MAX_RECORD + 1).read_to_end(&mut text).map_err(|_| wrong("not a zstd frame"))?;
    if text.len() as u64 > MAX_RECORD {
        return Err(wrong(&format!("more than {MAX_RECORD} bytes")));
    }
    serde_json::from_slice(&text).map_err(|_| wrong("not JSON"))
}

/// The name of an ELF machine; the word that other tools use where there is one.
fn architecture(header: &Header) -> String {
    let name = match (header.machine, header.address_size) {
        (3, _) => "i386",
        (8, _) => "mips",
        (20, _) => "powerpc",
        (21, _) => "powerpc64",
        (22, _) => "s390x",
        (40, _) => "arm",
        (43, _) => "sparcv9",
        (62, 4) => "x32",
        (62, _) => "x86_64",
        (183, _) => "aarch64",
        (224, _) => "amdgpu",
        (243, 4) => "riscv32",
        (243, _) => "riscv64",
        (247, _) => "bpf",
        (258, _) => "loongarch",
        (machine, _) => return format!("machine {machine}"),
    };
    name.to_owned()
}

/// Text: a line a fact, the sections as a table, the conversion record below.
fn print(out: &mut Vec<u8>, facts: &Value) {
    let empty = Map::new();
    let facts = facts.as_object().unwrap_or(&empty);
    let size = facts.get("Size").and_then(Value::as_u64).unwrap_or(0);
    for (key, value) in facts {
        match (key.as_str(), value) {
            ("Counts", Value::Object(counts)) => counts.iter().for_each(|(key, value)| line(out, "", key, value)),
            ("Sections", _) | ("Conversion", Value::Null) => {}
            ("Conversion", Value::Object(_)) => {}
            (_, value) => line(out, "", key, value),
        }
    }
    out.extend_from_slice(format!("\n{:<12} {:>12} {:>12} {:>7}\n", "Section", "Offset", "Size", "Share").as_bytes());
    for section in facts.get("Sections").and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| section.get(key).and_then(Value::as_u64).unwrap_or(0);
        let share = number("Size") as f64 * 100.0 / (size.max(1) as f64);
        let name = section.get("Name").and_then(Value::as_str).unwrap_or("?");
        out.extend_from_slice(format!("{name:<12} {:>12} {:>12} {share:>6.1}%\n", number("Offset"), number("Size")).as_bytes());
    }
    if let Some(Value::Object(record)) = facts.get("Conversion") {
        out.extend_from_slice(b"\nConversion\n");
        record.iter().for_each(|(key, value)| line(out, "  ", key, value));
    }
}

fn line(out: &mut Vec<u8>, indent: &str, key: &str, value: &Value) {
    out.extend_from_slice(indent.as_bytes());
    push_escaped(out, format!("{key:<16}").as_bytes());
    out.push(b' ');
    match value {
        Value::String(text) => push_escaped(out, text.as_bytes()),
        Value::Null => out.push(b'-'),
        value => push_escaped(out, value.to_string().as_bytes()),
    }
    out.push(b'\n');
}
