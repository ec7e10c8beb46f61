//! `foldsym verify`: checks a whole file, and compares it with its program; checks the line sequences that a program names.

#[cfg(feature = "convert")]
use foldsym_convert::{SequenceCounts, internal::verify_by_addr2line, verify_against, verify_sequences};

use crate::args::Verify;
use crate::commands::find::index::NameIndex;
use crate::io::failure::Failure;
#[cfg(feature = "convert")]
use crate::io::failure::exit;
use crate::io::mapped::Mapped;

/// Checks every byte; with a program, every answer.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Verify) -> Result<u8, Failure> {
    if args.sequences {
        return sequences(args);
    }
    let mapped = Mapped::open(&args.file)?;
    let file = crate::answer::open::open(&mapped)?;
    file.verify().map_err(|error| crate::answer::open::damaged(&mapped, error))?;
    // `file.verify` does not check the name index: the reader is `no_std`, and the crate `fst` needs `std`.
    if let Some(index) = NameIndex::of(&file) {
        index.verify().map_err(|what| Failure::input(mapped.path(), what))?;
    }
    if let Some(program) = &args.against {
        return against(args, program);
    }
    let mut line = Vec::new();
    crate::io::escape::push_escaped(&mut line, args.file.as_os_str().as_encoded_bytes());
    line.extend_from_slice(
        format!(": sound, {} functions, {} bytes\n", file.records().function_count(), mapped.len())
            .as_bytes(),
    );
    std::io::Write::write_all(&mut std::io::stdout().lock(), &line)?;
    Ok(0)
}

/// Compares the file with a program; the exit code is 1 if an answer differs. The converter's own reader comes first: it finds faults of
/// the steps after reading. `addr2line` comes second: it finds faults of that reader.
#[cfg(feature = "convert")]
fn against(args: &Verify, program: &std::path::Path) -> Result<u8, Failure> {
    crate::commands::convert::find_folders(&args.reading)?;
    let options = crate::commands::convert::options(&args.reading);
    let own = verify_against(&args.file, program, &options)?;
    let other = verify_by_addr2line(&args.file, program, &options)?;
    let mut text = Vec::new();
    let examples = own.examples.iter().chain(other.iter().flat_map(|other| &other.examples));
    for line in examples {
        crate::io::escape::push_escaped(&mut text, line.as_bytes());
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{} addresses compared, {} differ\n", own.asked, own.count).as_bytes());
    let line = match &other {
        Ok(other) => {
            let left_out = match other.left_out {
                0 => String::new(),
                count => {
                    format!(
                        ", {count} not compared, which removed functions seem to cover or several functions have"
                    )
                }
            };
            format!("{} addresses compared with addr2line, {} differ{left_out}", other.asked, other.count)
        }
        Err(reason) => format!("not compared with addr2line: {reason}"),
    };
    crate::io::escape::push_escaped(&mut text, line.as_bytes());
    text.push(b'\n');
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    let differ = own.count > 0 || other.is_ok_and(|other| other.count > 0);
    Ok(if differ { exit::NOTHING } else { 0 })
}

#[cfg(not(feature = "convert"))]
fn against(_: &Verify, _: &std::path::Path) -> Result<u8, Failure> {
    Err(super::absent::needs_converter("verify --against"))
}

/// Counts what the functions of a program name as their line sequences; the exit code is 1 if a value is wrong.
#[cfg(feature = "convert")]
fn sequences(args: &Verify) -> Result<u8, Failure> {
    crate::commands::convert::find_folders(&args.reading)?;
    let check = verify_sequences(&args.file, &crate::commands::convert::options(&args.reading))?;
    let all = check.counts();
    let mut text = Vec::new();
    if args.json {
        let text_of = |bytes: &[u8]| serde_json::Value::from(String::from_utf8_lossy(bytes).into_owned());
        let units = check.units.iter().map(|unit| {
            let mut object = counts(&unit.counts);
            object.insert("Offset".to_owned(), format!("{:#x}", unit.offset).into());
            object.insert("Name".to_owned(), text_of(&unit.name));
            object.insert("Producer".to_owned(), text_of(&unit.producer));
            serde_json::Value::Object(object)
        });
        let mut object = counts(&all);
        object.insert("Units".to_owned(), units.collect());
        let producers = check.producers();
        let producers = producers.iter().map(|(producer, units, of)| {
            let mut object = counts(of);
            object.insert("Producer".to_owned(), text_of(producer));
            object.insert("Units".to_owned(), (*units).into());
            serde_json::Value::Object(object)
        });
        object.insert("Producers".to_owned(), producers.collect());
        text.extend_from_slice(serde_json::Value::Object(object).to_string().as_bytes());
        text.push(b'\n');
    } else {
        let mut line = |name: &[u8], rest: String| {
            crate::io::escape::push_escaped(&mut text, name);
            text.extend_from_slice(rest.as_bytes());
            text.push(b'\n');
        };
        for unit in check.units.iter().filter(|unit| unit.counts.is_wrong() || unit.counts.shared > 0) {
            line(&unit.name, format!(" (unit at {:#x}): {}", unit.offset, said(&unit.counts)));
        }
        for (producer, units, of) in check.producers() {
            line(producer, format!(": {units} units: {}", said(&of)));
        }
        for example in &check.examples {
            line(b"first: ", String::new() + example);
        }
        line(args.file.as_os_str().as_encoded_bytes(), format!(": {}", said(&all)));
    }
    std::io::Write::write_all(&mut std::io::stdout().lock(), &text)?;
    Ok(if all.is_wrong() { exit::NOTHING } else { 0 })
}

#[cfg(feature = "convert")]
fn said(of: &SequenceCounts) -> String {
    format!(
        "{} functions name a line sequence: {} name none that exists, {} name another function's, {} share one",
        of.values, of.no_sequence, of.of_another, of.shared
    )
}

#[cfg(feature = "convert")]
fn counts(of: &SequenceCounts) -> serde_json::Map<String, serde_json::Value> {
    let all = [
        ("Values", of.values),
        ("NoSequence", of.no_sequence),
        ("OfAnother", of.of_another),
        ("Shared", of.shared),
    ];
    all.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

#[cfg(not(feature = "convert"))]
fn sequences(_: &Verify) -> Result<u8, Failure> {
    Err(super::absent::needs_converter("verify --sequences"))
}
