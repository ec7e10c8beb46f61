//! The constants of the code are those of `schema/format.toml`, and those of the tables in `schema/README.md`.

use std::collections::BTreeMap;

use foldsym_format::bits::{MAX_WIDTH, TAIL};
use foldsym_format::features;
use foldsym_format::header::{self, entry_field, field, flags};
use foldsym_format::records::{file_code, line_code, locations, rows, scopes, unwind};
use foldsym_format::sections::{
    aliases, block_ranges, calls, data, dispatches, edges, functions, groups, guesses, imports, located,
    members, origins, overriders, pieces, segments, slots, tails, targets, vtables,
};
use foldsym_format::{Reason, SectionId, starts, table};

const TOML: &str = include_str!("../../../schema/format.toml");
const SPEC: &str = include_str!("../../../schema/README.md");

/// The keys of the file, in order, as `table.key` with its value's text.
fn keys() -> Vec<(String, String)> {
    let mut table = String::new();
    let mut out = vec![];
    for line in TOML.lines() {
        let line = line.split('#').next().unwrap().trim();
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.strip_suffix(']').unwrap());
        } else if let Some((key, value)) = line.split_once('=') {
            out.push((format!("{table}{}", key.trim()), value.trim().to_owned()));
        }
    }
    out
}

fn list(value: &str) -> Vec<u64> {
    let value = value.trim_matches(['[', ']']);
    value
        .split(',')
        .map(|number| match number.trim().strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
            None => number.trim().parse().unwrap(),
        })
        .collect()
}

fn names(value: &str) -> Vec<&str> {
    value.trim_matches(['[', ']']).split(',').map(|name| name.trim().trim_matches('"')).collect()
}

/// What the code says, under the names of the file.
// Long because it is a table: each constant of the code by its name in the schema.
fn code() -> BTreeMap<String, Vec<u64>> {
    let mut out = BTreeMap::new();
    let mut put = |table: &str, values: &[(&str, &[u64])]| {
        for (key, value) in values {
            assert!(out.insert(format!("{table}{key}"), value.to_vec()).is_none());
        }
    };
    let bit = |value: u64| u64::from(value.trailing_zeros());
    let bits = |mask: u16| u64::from(mask.count_ones());
    put("", &[("version", &[header::VERSION.into()])]);
    put(
        "header.",
        &[
            ("magic", &header::MAGIC.map(u64::from)),
            ("len", &[header::HEADER_LEN as u64]),
            ("max_sections", &[header::MAX_SECTIONS.into()]),
            ("max_head", &[header::MAX_HEAD.into()]),
            ("max_depth", &[header::MAX_DEPTH.into()]),
            ("max_unit_log2", &[header::MAX_UNIT_LOG2.into()]),
            ("align", &[header::ALIGN]),
        ],
    );
    put(
        "header.fields.",
        &[
            ("magic", &[field::MAGIC as u64, 8]),
            ("version", &[field::VERSION as u64, 4]),
            ("directory_len", &[field::DIRECTORY_LEN as u64, 4]),
            ("file_len", &[field::FILE_LEN as u64, 8]),
            ("features", &[field::FEATURES as u64, 8]),
            ("image_base", &[field::IMAGE_BASE as u64, 8]),
            ("machine", &[field::MACHINE as u64, 2]),
            ("address_size", &[field::ADDRESS_SIZE as u64, 1]),
            ("flags", &[field::FLAGS as u64, 1]),
            ("unit_log2", &[field::UNIT_LOG2 as u64, 1]),
            ("reserved", &[field::RESERVED as u64, 3]),
            ("section_count", &[field::SECTION_COUNT as u64, 4]),
            ("max_depth", &[field::MAX_DEPTH as u64, 4]),
            ("max_group", &[field::MAX_GROUP as u64, 4]),
            ("checksum", &[field::CHECKSUM as u64, 4]),
        ],
    );
    put("header.features.", &[("COLUMNS", &[bit(features::COLUMNS)])]);
    put(
        "header.flags.",
        &[
            ("BIG_ENDIAN", &[bit(flags::BIG_ENDIAN.into())]),
            ("RELOCATABLE", &[bit(flags::RELOCATABLE.into())]),
            ("MACH_O", &[bit(flags::MACH_O.into())]),
            ("READABLE_NAMES", &[bit(flags::READABLE_NAMES.into())]),
            ("EMPTY_NAME", &[bit(flags::EMPTY_NAME.into())]),
            (
                "DEBUG_INFO",
                &[
                    flags::DEBUG_INFO_SHIFT.into(),
                    bits((flags::DEBUG_INFO >> flags::DEBUG_INFO_SHIFT).into()),
                ],
            ),
        ],
    );
    put("directory.", &[("entry_len", &[header::ENTRY_LEN as u64])]);
    put(
        "directory.fields.",
        &[
            ("id", &[entry_field::ID as u64, 4]),
            ("checksum", &[entry_field::CHECKSUM as u64, 4]),
            ("offset", &[entry_field::OFFSET as u64, 8]),
            ("len", &[entry_field::LEN as u64, 8]),
            ("head_len", &[entry_field::HEAD_LEN as u64, 4]),
            ("reserved", &[entry_field::RESERVED as u64, 4]),
        ],
    );
    for id in SectionId::ALL {
        put("sections.", &[(id.name(), &[id.0.into()])]);
    }
    put("function_flags.", &[("PARTIAL", &[bit(functions::PARTIAL)])]);
    put("function_reason.", &[("field", &[functions::REASON.into(), functions::REASON_BITS.into()])]);
    for reason in Reason::ALL {
        put("reasons.", &[(reason.text(), &[reason.code()])]);
    }
    put(
        "located.",
        &[
            ("lanes", &[located::LANES]),
            ("active_lane", &[located::ACTIVE_LANE]),
            ("lane_pc", &[located::LANE_PC]),
            ("object", &[located::OBJECT]),
            ("frame_base", &[located::FRAME_BASE]),
            ("unknown_calls", &[located::UNKNOWN_CALLS]),
        ],
    );
    put(
        "locations.",
        &[
            ("codes.user", &[locations::USER_CODES.into()]),
            ("codes.first", &[locations::FIRST_CODES.into()]),
            ("reference.by_unit", &[locations::BY_UNIT.into()]),
            ("reference.by_section", &[locations::BY_SECTION.into()]),
            ("reference.base_type", &[locations::BASE_TYPE.into()]),
            ("reference.address", &[locations::ADDRESS.into()]),
        ],
    );
    put(
        "starts.",
        &[
            ("count", &[starts::COUNT as u64]),
            ("low_width", &[starts::LOW_WIDTH as u64]),
            ("index_width", &[starts::INDEX_WIDTH as u64]),
            ("bucket_width", &[starts::BUCKET_WIDTH as u64]),
            ("reserved", &[starts::RESERVED as u64]),
            ("end", &[starts::END as u64]),
            ("buckets", &[starts::BUCKETS as u64]),
            ("first_bucket", &[starts::FIRST_BUCKET as u64]),
            ("index", &[starts::INDEX as u64]),
            ("limits.low_width", &[MAX_WIDTH.into()]),
            ("limits.wider", &[starts::MAX_WIDER.into()]),
            ("limits.index_width", &[starts::MAX_INDEX_WIDTH.into()]),
            ("limits.tail", &[TAIL as u64]),
        ],
    );
    put("segments.", &[("max", &[segments::MAX.into()])]);
    put("unwind.", &[("max_saves", &[unwind::MAX_SAVES])]);
    put(
        "table.",
        &[
            ("count", &[table::COUNT as u64]),
            ("columns", &[table::COLUMNS as u64]),
            ("block_log2", &[table::BLOCK_LOG2 as u64]),
            ("reserved", &[table::RESERVED as u64]),
            ("headers", &[table::HEADERS as u64]),
            ("limits.columns", &[table::MAX_COLUMNS.into()]),
            ("limits.block_log2", &[table::MAX_BLOCK_LOG2.into()]),
            ("limits.width", &[MAX_WIDTH.into()]),
            ("limits.tail", &[TAIL as u64]),
            ("block.offset", &[0, table::OFFSET_BITS.into()]),
            (
                "block.record_bits",
                &[table::RECORD_BITS_SHIFT.into(), u64::from(64 - table::RECORD_BITS_SHIFT)],
            ),
            ("words.block", &[0]),
            ("words.widths", &[table::WIDTHS as u64]),
            ("words.bases", &[table::BASES as u64]),
        ],
    );
    put("origins.", &[("edges_each", &[origins::EDGES_EACH as u64])]);
    put(
        "rows.",
        &[
            ("block_rows", &[rows::BLOCK_ROWS.into()]),
            ("max_directory_width", &[rows::MAX_DIRECTORY_WIDTH.into()]),
            ("max_extended_width", &[rows::MAX_EXTENDED_WIDTH.into()]),
            ("max_wide_width", &[rows::MAX_WIDE_WIDTH.into()]),
            ("max_high_bits", &[rows::MAX_HIGH_BITS.into()]),
            ("base_bits", &[rows::BASE_BITS.into()]),
            ("head.many", &[bit(rows::HEAD_MANY), 1]),
            ("head.rows", &[rows::HEAD_SHIFT.into(), u64::from(64 - rows::HEAD_SHIFT)]),
            ("block.low_width", &[rows::LOW_WIDTH_SHIFT.into(), bits(rows::WIDTH_MASK as u16)]),
            ("block.scope_width", &[rows::SCOPE_WIDTH_SHIFT.into(), bits(rows::WIDTH_MASK as u16)]),
            ("block.line_width", &[rows::LINE_WIDTH_SHIFT.into(), bits(rows::WIDTH_MASK as u16)]),
            ("block.more_width", &[rows::MORE_WIDTH_SHIFT.into(), bits(rows::WIDTH_MASK as u16)]),
            ("block.extended", &[bit(rows::EXTENDED.into()), 1]),
            ("block.line_base", &[rows::LINE_BASE_SHIFT.into(), u64::from(32 - rows::LINE_BASE_SHIFT)]),
            ("extended.files", &[bit(rows::FILES.into())]),
            ("extended.columns", &[bit(rows::COLUMNS.into())]),
            ("extended.shared", &[bit(rows::SHARED.into())]),
            ("extended.wide", &[bit(rows::WIDE.into())]),
            ("extended.scopes", &[bit(rows::SCOPES.into())]),
        ],
    );
    put(
        "scopes.",
        &[
            ("block_nodes", &[scopes::BLOCK_NODES.into()]),
            ("max_directory_width", &[scopes::MAX_DIRECTORY_WIDTH.into()]),
            ("block.parent_width", &[scopes::PARENT_WIDTH_SHIFT.into(), bits(scopes::WIDTH_MASK)]),
            ("block.edge_width", &[scopes::EDGE_WIDTH_SHIFT.into(), bits(scopes::WIDTH_MASK)]),
        ],
    );
    put(
        "file_code.",
        &[
            ("origin", &[file_code::ORIGIN]),
            ("unknown", &[file_code::UNKNOWN]),
            ("first", &[file_code::FIRST]),
        ],
    );
    put("line_code.", &[("none", &[line_code::NONE]), ("first", &[line_code::FIRST])]);
    out
}

#[test]
fn numbers() {
    let mut code = code();
    for (key, value) in keys() {
        if !key.starts_with("columns") {
            assert_eq!(code.remove(&key), Some(list(&value)), "{key}");
        }
    }
    assert!(code.is_empty(), "not in format.toml: {code:?}");
}

#[test]
fn columns() {
    let ids: BTreeMap<&str, SectionId> = SectionId::ALL.iter().map(|id| (id.name(), *id)).collect();
    let mut tables = 0;
    for (key, value) in keys() {
        let Some((table, section)) = key.split_once('.').filter(|(table, _)| table.starts_with("columns"))
        else {
            continue;
        };
        let (id, names) = (ids[section], names(&value));
        if table == "columns" {
            tables += 1;
            assert_eq!(id.columns(), names);
            assert_eq!(usize::from(id.column_count(0)), names.len());
        } else {
            assert_eq!(usize::from(id.column_count(features::COLUMNS)), names.len());
            assert_eq!(id.columns(), &names[..id.columns().len()]);
        }
        for (index, name) in names.iter().enumerate() {
            assert_eq!(column(section, name), index, "{section}.{name}");
        }
    }
    assert_eq!(tables, SectionId::ALL.iter().filter(|id| !id.columns().is_empty()).count());
}

fn column(section: &str, name: &str) -> usize {
    match (section, name) {
        ("PIECES", "gap") => pieces::GAP,
        ("PIECES", "pad") => pieces::PAD,
        ("PIECES", "skip") => pieces::SKIP,
        ("PIECES", "owner") => pieces::OWNER,
        ("PIECES", "rows") => pieces::ROWS,
        ("PIECES", "name") => pieces::NAME,
        ("FUNCTIONS", "origin") => functions::ORIGIN,
        ("FUNCTIONS", "scopes") => functions::SCOPES,
        ("FUNCTIONS", "name") => functions::NAME,
        ("FUNCTIONS", "aliases") => functions::ALIASES,
        ("FUNCTIONS", "flags") => functions::FLAGS,
        ("ORIGINS", "name") => origins::NAME,
        ("ORIGINS", "file") => origins::FILE,
        ("ORIGINS", "line") => origins::LINE,
        ("ORIGINS", "edges") => origins::EDGES,
        ("EDGES", "callee") => edges::CALLEE,
        ("EDGES", "line") => edges::LINE,
        ("EDGES", "file") => edges::FILE,
        ("EDGES", "column") => edges::COLUMN,
        ("GROUPS", "first") => groups::FIRST,
        ("MEMBERS", "function") => members::FUNCTION,
        ("MEMBERS", "rows") => members::ROWS,
        ("MEMBERS", "how") => members::HOW,
        ("MEMBERS", "name") => members::NAME,
        ("ALIASES", "name") => aliases::NAME,
        ("ALIASES", "last") => aliases::LAST,
        ("CALLS", "address") => calls::ADDRESS,
        ("CALLS", "caller") => calls::CALLER,
        ("CALLS", "callee") => calls::CALLEE,
        ("CALLS", "how") => calls::HOW,
        ("TAILS", "function") => tails::FUNCTION,
        ("TAILS", "target") => tails::TARGET,
        ("BLOCK_RANGES", "first") => block_ranges::FIRST,
        ("BLOCK_RANGES", "entry") => block_ranges::ENTRY,
        ("BLOCK_RANGES", "next") => block_ranges::NEXT,
        ("BLOCK_RANGES", "shared") => block_ranges::SHARED,
        ("BLOCK_RANGES", "id") => block_ranges::ID,
        ("BLOCK_RANGES", "flags") => block_ranges::FLAGS,
        ("VTABLES", "point") => vtables::POINT,
        ("VTABLES", "function") => vtables::FUNCTION,
        ("VTABLES", "slot") => vtables::SLOT,
        ("VTABLES", "doubtful") => vtables::DOUBTFUL,
        ("SLOTS", "address") => slots::ADDRESS,
        ("SLOTS", "slot") => slots::SLOT,
        ("OVERRIDERS", "slot") => overriders::SLOT,
        ("OVERRIDERS", "function") => overriders::FUNCTION,
        ("OVERRIDERS", "doubtful") => overriders::DOUBTFUL,
        ("DISPATCHES", "address") => dispatches::ADDRESS,
        ("DISPATCHES", "set") => dispatches::SET,
        ("DISPATCHES", "how") => dispatches::HOW,
        ("TARGETS", "set") => targets::SET,
        ("TARGETS", "point") => targets::POINT,
        ("TARGETS", "function") => targets::FUNCTION,
        ("TARGETS", "doubtful") => targets::DOUBTFUL,
        ("GUESSES", "address") => guesses::ADDRESS,
        ("GUESSES", "caller") => guesses::CALLER,
        ("GUESSES", "callee") => guesses::CALLEE,
        ("IMPORTS", "address") => imports::ADDRESS,
        ("IMPORTS", "name") => imports::NAME,
        ("DATA", "address") => data::ADDRESS,
        ("DATA", "size") => data::SIZE,
        ("DATA", "name") => data::NAME,
        ("DATA", "file") => data::FILE,
        ("DATA", "line") => data::LINE,
        ("LOCATED", "function") => located::FUNCTION,
        ("LOCATED", "kind") => located::KIND,
        ("LOCATED", "place") => located::PLACE,
        ("LOCATED", "unit") => located::UNIT,
        _ => panic!("no constant for {section}.{name}"),
    }
}

/// The spec's own tables: sections in section 3, header fields in section 2.
#[test]
fn spec() {
    let cells = |line: &'static str| -> Vec<&'static str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    };
    let part = |from: &str, to: &str| {
        let text = SPEC.split_once(from).unwrap().1;
        text.split_once(to).unwrap().0.lines().filter(|line| line.starts_with('|'))
    };
    let mut ids = 0;
    for line in part("\n## 3. Sections", "\n### ") {
        let [id, name, kind, content] = cells(line)[..] else { panic!("{line}") };
        let Ok(id) = id.parse::<u32>() else { continue };
        ids += 1;
        let section = SectionId(id);
        assert_eq!(section.name(), name);
        if kind == "table" && !section.columns().is_empty() {
            let mut columns: Vec<&str> = content.split(',').map(str::trim).collect();
            columns.retain(|column| (name, *column) != ("EDGES", "column"));
            assert_eq!(columns, section.columns());
        }
    }
    assert_eq!(ids, SectionId::ALL.len());
    let fields: BTreeMap<String, Vec<u64>> = code();
    for line in part("\n## 2. Header", "\nThe directory is") {
        let [offset, _, name, _] = cells(line)[..] else { panic!("{line}") };
        let Ok(offset) = offset.parse::<u64>() else { continue };
        if offset < 64 {
            assert_eq!(fields[&format!("header.fields.{name}")][0], offset);
        }
    }
}
