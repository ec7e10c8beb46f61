//! `foldsym info`: prints the contents of a `.fsym`, where its bytes go, and how it was made.

#[cfg(feature = "convert")]
use foldsym_convert::report::ConversionRecord;
use foldsym_format::header::VERSION;
use foldsym_lookup::locations::LocationKind;
use foldsym_lookup::records::{Owner, SectionInfo};
use foldsym_lookup::{Error, GroupId, Header, PieceId, Reason, SectionId, SymbolFile, features, flags};
use serde_json::{Map, Value};

use crate::answer::open::damaged;
use crate::args::Info;
use crate::io::escape::push_escaped;
use crate::io::failure::Failure;
use crate::io::mapped::Mapped;
use crate::io::output::Output;
use foldsym_symbolize::json::list;
use foldsym_symbolize::json::string;
use foldsym_symbolize::layout;

/// The facts of a file, in the order in which they are printed.
struct Facts {
    head: Vec<(&'static str, Value)>,
    counts: Vec<(&'static str, Value)>,
    /// Counts of functions that do not share their code.
    alone: Vec<(&'static str, Value)>,
    /// Of functions that share code.
    folded: Vec<(&'static str, Value)>,
    sections: Vec<SectionInfo>,
    size: u64,
    /// Null if it was not kept.
    conversion: Value,
}

/// Prints the facts of a file.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Info) -> Result<u8, Failure> {
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    let mut out = Output::new();
    if args.html {
        let layout = layout::layout(&file, &|| true).map_err(|error| damaged(&mapped, error))?;
        let name = args.file.file_name().unwrap_or_default().to_string_lossy();
        // The callback never cancels.
        if let Some(layout) = layout {
            out.text.extend_from_slice(layout::page(&name, &layout).as_bytes());
        }
        out.flush()?;
        return Ok(0);
    }
    let facts = facts(&file, &mapped)?;
    if args.json {
        print_json(&mut out.text, &facts);
    } else {
        push_escaped(&mut out.text, args.file.as_os_str().as_encoded_bytes());
        out.text.push(b'\n');
        print_text(&mut out.text, &facts);
    }
    out.flush()?;
    Ok(0)
}

fn facts(file: &SymbolFile<'_>, mapped: &Mapped) -> Result<Facts, Failure> {
    let header = file.header();
    let conversion = record(file, mapped)?;
    let folded = folded(file, &conversion).map_err(|error| damaged(mapped, error))?;
    let build_id: String = file.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    let flag = |bit| Value::Bool(header.flags & bit != 0);
    let segments = file.records().segments();
    let unwind = file.unwind().map_err(|error| damaged(mapped, error))?;
    let rows = unwind.map(|unwind| unwind.each_row(&mut |_| ())).transpose();
    let rows = rows.map_err(|error| {
        damaged(mapped, Error { section: SectionId::UNWIND, what: error.what, offset: error.offset })
    })?;
    let independent = segments.as_ref().map(|segments| segments.is_position_independent());
    Ok(Facts {
        head: vec![
            ("Version", VERSION.into()),
            ("Architecture", architecture(header).into()),
            ("Machine", header.machine.into()),
            ("AddressSize", header.address_size.into()),
            ("BigEndian", flag(flags::BIG_ENDIAN)),
            ("Relocatable", flag(flags::RELOCATABLE)),
            ("MachO", flag(flags::MACH_O)),
            ("ReadableNames", flag(flags::READABLE_NAMES)),
            ("BuildId", if build_id.is_empty() { Value::Null } else { build_id.into() }),
            ("ImageBase", format!("{:#x}", header.image_base).into()),
            ("PositionIndependent", independent.map_or(Value::Null, Value::Bool)),
            ("Columns", Value::Bool(header.features & features::COLUMNS != 0)),
            ("Size", header.file_len.into()),
        ],
        counts: vec![
            ("Pieces", file.records().piece_count().into()),
            ("Functions", file.records().function_count().into()),
            ("Origins", file.records().origin_count().into()),
            ("Edges", file.records().edge_count().into()),
            ("Groups", file.records().group_count().into()),
            ("FoldedFunctions", folded.members.into()),
            ("LargestGroup", header.max_group.into()),
            ("DeepestInline", header.max_depth.into()),
            ("Names", file.records().names().len().into()),
            ("Files", file.records().files().len().into()),
            ("ProgramSections", file.records().program_sections().count().into()),
            ("Segments", segments.map_or(0, Iterator::count).into()),
            ("UnwindRows", rows.unwrap_or(0).into()),
            ("UnwindRules", unwind.map_or(0, |unwind| unwind.rule_count()).into()),
        ],
        alone: alone(file).map_err(|error| damaged(mapped, error))?,
        folded: folded.facts,
        sections: file.records().sections().collect(),
        size: header.file_len,
        conversion,
    })
}

/// Counts the functions that are certain to be the only ones with their code, and the others, by reason.
fn alone(file: &SymbolFile<'_>) -> Result<Vec<(&'static str, Value)>, Error> {
    // A function may have many pieces, and is counted once.
    let mut counted = vec![false; file.records().function_count() as usize];
    let (mut unique, mut likely) = (0u64, [0u64; Reason::ALL.len()]);
    for piece in 0..file.records().piece_count() {
        let Owner::Function(function) = file.records().piece(PieceId(piece))?.owner else { continue };
        let reason = file.records().function(function)?.reason;
        // A damaged file may name a function that it does not have; reading it was an error then.
        if counted.get_mut(function.0 as usize).is_none_or(|counted| std::mem::replace(counted, true)) {
            continue;
        }
        match reason {
            None => unique += 1,
            // The numbers of reasons begin at 1; 0 is no reason.
            Some(reason) => likely[reason as usize - 1] += 1,
        }
    }
    let likely = Reason::ALL.iter().zip(likely).filter(|(_, count)| *count > 0);
    let likely: Map<String, Value> =
        likely.map(|(reason, count)| (reason.text().to_owned(), count.into())).collect();
    Ok(vec![("Unique", unique.into()), ("Likely", likely.into())])
}

struct Folded {
    members: u64,
    facts: Vec<(&'static str, Value)>,
}

/// How the functions that share code were recovered, and for how many calls into them the callee is known. Counts that only the conversion
/// can make are null if its record was not kept.
fn folded(file: &SymbolFile<'_>, conversion: &Value) -> Result<Folded, Error> {
    let (mut members, mut evidence) = (0u64, Map::new());
    for group in 0..file.records().group_count() {
        for member in file.records().members(file.records().group(GroupId(group))?) {
            let count = evidence.entry(member?.how.text()).or_insert_with(|| 0.into());
            *count = (count.as_u64().unwrap_or(0) + 1).into();
            members += 1;
        }
    }
    // Indexing a null gives null.
    let counted = |key: &str| conversion["decided"][key].clone();
    let mut objects = 0u64;
    if let Some(locations) = file.locations()? {
        for group in 0..file.records().group_count() {
            for member in file.records().members(file.records().group(GroupId(group))?) {
                objects += u64::from(locations.of(member?.function, LocationKind::Object)?.is_some());
            }
        }
    }
    let facts = vec![
        ("Addresses", file.records().group_count().into()),
        ("Functions", members.into()),
        ("ByEvidence", evidence.into()),
        ("NamesWithoutDie", counted("symbol_only")),
        ("CallsIntoFolded", counted("calls_into_folded")),
        ("CallsWithKey", counted("calls_with_key")),
        ("CallKeys", file.records().calls().count().into()),
        ("TailKeys", file.records().tail_calls().count().into()),
        ("VtableKeys", file.records().methods().count().into()),
        ("SlotKeys", file.records().slot_calls().count().into()),
        ("OverriderKeys", file.records().overriders().count().into()),
        ("CallsWithSet", file.records().dispatches().count().into()),
        ("TargetKeys", file.records().targets().count().into()),
        ("GuessedCalls", file.records().guesses()?.len().into()),
        ("ObjectPointers", objects.into()),
        ("ImportedCalls", file.records().imports()?.len().into()),
    ];
    Ok(Folded { members, facts })
}

/// How the file was made; null if that was not kept.
#[cfg(feature = "convert")]
fn record(file: &SymbolFile<'_>, mapped: &Mapped) -> Result<Value, Failure> {
    let Some(bytes) = file.records().section_bytes(SectionId::RECORD) else { return Ok(Value::Null) };
    let record = ConversionRecord::decode(bytes)
        .map_err(|error| Failure::input(mapped.path(), format!("damaged: section RECORD: {error}")))?;
    let mut json = record.to_json();
    // What follows from the record, so that nobody needs to know which kinds of cases are losses.
    json["debug_info"] = record.debug_info().text().into();
    json["lost"] = record.lost().iter().map(|kind| Value::from(kind.name())).collect();
    Ok(json)
}

/// Only the converter can decode its record.
#[cfg(not(feature = "convert"))]
fn record(file: &SymbolFile<'_>, mapped: &Mapped) -> Result<Value, Failure> {
    if file.records().section_bytes(SectionId::RECORD).is_some() {
        let path = mapped.path().display();
        crate::io::failure::complain(&format!(
            "{path}: how it was converted is not shown by a build without the feature `convert`"
        ));
    }
    Ok(Value::Null)
}

/// The name of an ELF machine, as other tools spell it if they have one.
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

/// One object, with its keys in the order of the text. The keys below `Conversion` are those of the report.
fn print_json(out: &mut Vec<u8>, facts: &Facts) {
    let member = |out: &mut Vec<u8>, (key, value): &(&str, Value)| {
        string(out, key.as_bytes());
        out.push(b':');
        out.extend_from_slice(value.to_string().as_bytes());
    };
    out.push(b'{');
    for fact in &facts.head {
        member(out, fact);
        out.push(b',');
    }
    for (key, facts) in [("Counts", &facts.counts), ("Alone", &facts.alone), ("Folded", &facts.folded)] {
        string(out, key.as_bytes());
        out.extend_from_slice(b":{");
        for (at, fact) in facts.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            member(out, fact);
        }
        out.extend_from_slice(b"},");
    }
    out.extend_from_slice(b"\"Sections\":");
    list(out, &facts.sections, |out, section| {
        let SectionInfo { id, name, offset, len } = section;
        out.extend_from_slice(
            format!("{{\"Id\":{},\"Name\":\"{name}\",\"Offset\":{offset},\"Size\":{len}}}", id.0).as_bytes(),
        );
    });
    out.push(b',');
    member(out, &("Conversion", facts.conversion.clone()));
    out.extend_from_slice(b"}\n");
}

/// A line a fact, the sections as a table, the conversion record below.
fn print_text(out: &mut Vec<u8>, facts: &Facts) {
    for (key, value) in facts.head.iter().chain(&facts.counts) {
        line(out, "", key, value);
    }
    for (title, facts) in [("Alone", &facts.alone), ("Folded", &facts.folded)] {
        out.extend_from_slice(format!("\n{title}\n").as_bytes());
        for (key, value) in facts {
            if let Value::Object(counts) = value {
                line(out, "  ", key, &"".into());
                nested(out, "    ", counts);
            } else {
                line(out, "  ", key, value);
            }
        }
    }
    out.extend_from_slice(
        format!("\n{:<12} {:>12} {:>12} {:>7}\n", "Section", "Offset", "Size", "Share").as_bytes(),
    );
    for section in &facts.sections {
        // A file that opened has a size above 0. `max` only guards the division.
        let share = section.len as f64 * 100.0 / (facts.size.max(1) as f64);
        let SectionInfo { name, offset, len, .. } = section;
        out.extend_from_slice(format!("{name:<12} {offset:>12} {len:>12} {share:>6.1}%\n").as_bytes());
    }
    if let Value::Object(record) = &facts.conversion {
        out.extend_from_slice(b"\nConversion\n");
        nested(out, "  ", record);
    }
}

/// Objects are printed one level deep; deeper ones stay JSON, on one line.
fn nested(out: &mut Vec<u8>, indent: &str, object: &Map<String, Value>) {
    for (key, value) in object {
        match value {
            Value::Object(inner) if indent.len() < 4 && !inner.is_empty() => {
                line(out, indent, key, &Value::String(String::new()));
                nested(out, "    ", inner);
            }
            value => line(out, indent, key, value),
        }
    }
}

fn line(out: &mut Vec<u8>, indent: &str, key: &str, value: &Value) {
    let mut text = format!("{indent}{key:<16} ").into_bytes();
    match value {
        Value::String(value) => text.extend_from_slice(value.as_bytes()),
        Value::Null => text.push(b'-'),
        value => text.extend_from_slice(value.to_string().as_bytes()),
    }
    // The conversion record has paths from the program, which may be untrusted.
    push_escaped(out, text.trim_ascii_end());
    out.push(b'\n');
}
